"""A lens that stays while the picture is sharp, follows when it changes, and does not hunt."""

from itertools import islice

import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.tracking import Doing, Tracked, Watch
from dioptre.errors import InputError
from tests.autofocus.lens_world import LensCamera


def followed(camera: LensCamera, moves: dict[int, float], frames: int) -> list[Tracked]:
    """Tracks for some frames; at some of them the scene moves."""
    found = []
    for count, one in enumerate(islice(Autofocus(camera, "laplacian-variance", risk=0.2).track(), frames)):
        found.append(one)
        camera.truth = moves.get(count, camera.truth)
    return found


def test_a_still_scene_is_focused_once_and_the_lens_stays() -> None:
    camera = LensCamera(31)
    found = followed(camera, {}, 40)
    assert [one.doing for one in found] == [Doing.FOCUSED, *[Doing.STEADY] * 39]
    assert len({one.index for one in found}) == 1


def test_a_scene_that_moves_is_followed_once() -> None:
    camera = LensCamera(31)
    found = followed(camera, {12: 14.0}, 40)
    doing = [one.doing for one in found]
    assert doing.count(Doing.FOCUSED) == 2
    again = doing.index(Doing.FOCUSED, 1)
    assert 13 < again <= 12 + 6
    assert all(one is Doing.STEADY for one in doing[again + 1 :])
    assert abs((found[-1].index or 0) - 14) <= 1
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
    found = followed(camera, {10: 400.0}, 50)  # far beyond the ladder
    doing = [one.doing for one in found]
    lost = doing.index(Doing.LOST)
    assert set(doing[lost:]) == {Doing.LOST}
    assert sum(one.result is not None for one in found) == 2


def test_tracking_ends_when_it_is_cancelled() -> None:
    camera = LensCamera(31)
    focuser = Autofocus(camera, "laplacian-variance", risk=0.2)
    count = 0
    for _ in focuser.track():
        count += 1
        if count == 5:
            focuser.cancel()
    assert count == 5


def test_a_watch_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="a change is more than 0"):
        Watch(change=0.0)
