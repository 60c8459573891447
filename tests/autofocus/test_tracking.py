"""A lens that stays while the picture is sharp, follows when it changes, and does not hunt."""

from itertools import islice

import numpy as np
import pytest

from dioptre.autofocus import tracking
from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.tracking import Doing, Tracked, Watch
from dioptre.confidence.reasons import State
from dioptre.errors import InputError
from tests.autofocus.lens_world import LensCamera


def followed(camera: LensCamera, moves: dict[int, float], frames: int) -> list[Tracked]:
    """Tracks for some frames; at some of them the scene moves."""
    found = []
    for count, one in enumerate(
        islice(Autofocus(camera, method="laplacian-variance", risk=0.05).track(), frames)
    ):
        found.append(one)
        camera.truth = moves.get(count, camera.truth)
    return found


def test_a_still_scene_is_focused_once_and_the_lens_stays() -> None:
    camera = LensCamera(31)
    found = followed(camera, {}, 40)
    assert [one.doing for one in found] == [Doing.FOCUSED, *[Doing.STEADY] * 39]
    assert len({one.position for one in found}) == 1


def test_a_scene_that_moves_is_followed_once() -> None:
    camera = LensCamera(31)
    found = followed(camera, {12: 14.0}, 40)
    doing = [one.doing for one in found]
    assert doing.count(Doing.FOCUSED) == 2
    again = doing.index(Doing.FOCUSED, 1)
    assert 13 < again <= 12 + 6
    assert all(one is Doing.STEADY for one in doing[again + 1 :])
    assert abs((found[-1].position or 0) - 14) <= 1
    assert found[again].result is not None


def test_something_that_passes_is_not_followed() -> None:
    camera = LensCamera(31)
    found = followed(camera, {12: 20.0, 13: 31.0}, 30)
    doing = [one.doing for one in found]
    assert doing.count(Doing.FOCUSED) == 1
    assert Doing.CHANGING in doing
    assert doing[-1] is Doing.STEADY


def test_what_cannot_be_focused_is_not_tried_again_and_again() -> None:
    camera = LensCamera(31)
    found = followed(camera, {10: 400.0}, 50)  # far beyond all positions
    doing = [one.doing for one in found]
    lost = doing.index(Doing.LOST)
    assert set(doing[lost:]) == {Doing.LOST}
    assert sum(one.result is not None for one in found) == 2


def test_an_answer_that_is_not_sure_is_taken_and_watched() -> None:
    camera = LensCamera(31)
    focuser = Autofocus(camera, limits=(19, 27))  # short of the focus
    found = list(islice(focuser.track(), 4))
    assert [one.doing for one in found] == [Doing.FOCUSED, *[Doing.STEADY] * 3]
    assert found[0].result is not None
    assert found[0].result.state is State.UNCERTAIN
    assert [one.position for one in found] == [camera.at] * 4
    assert camera.at >= 26


def test_tracking_ends_when_it_is_cancelled() -> None:
    camera = LensCamera(31)
    focuser = Autofocus(camera, method="laplacian-variance", risk=0.05)
    count = 0
    for _ in focuser.track():
        count += 1
        if count == 5:
            focuser.cancel()
    assert count == 5


def test_a_watch_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="a change is more than 0"):
        Watch(change=0.0)


def scored(monkeypatch: pytest.MonkeyPatch, scores: list[float], frames: int) -> list[Tracked]:
    """Tracks for so many frames, which after focusing score as told."""
    left = iter(scores)

    focuser = Autofocus(LensCamera(31), method="laplacian-variance", risk=0.05)
    monkeypatch.setattr(tracking, "slice_scores", lambda *_: np.array([next(left)]))
    return list(islice(focuser.track(watch=Watch(frames=2)), frames))


def test_a_score_of_0_is_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scored(monkeypatch, [1.0, 1.0, 0.0, 3.0, 3.0, 1.0], 7)
    steady, changing, focused = Doing.STEADY, Doing.CHANGING, Doing.FOCUSED
    # from 0 to 3 the picture does not stand still: it does so one frame later
    assert [one.doing for one in found] == [focused, steady, steady, changing, changing, changing, focused]


def test_sharpness_is_told_of_a_picture_that_scored_0(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scored(monkeypatch, [0.0, 0.0, 0.0, 3.0], 5)
    assert [one.sharpness for one in found[3:]] == [1.0, np.inf]
