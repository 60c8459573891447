"""When a lens has looked often enough: contrast beside a network's posterior, and the risk of an answer."""

import numpy as np
import pytest
from scipy import ndimage

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.stopping import (
    EARLY,
    MOST,
    are_lost,
    are_turned,
    closed,
    combined,
    contrast_logs,
    is_early,
    risk_of,
    stays,
)
from dioptre.autofocus.sweep import FrameScorer, Gathered
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY, Method
from dioptre.posterior import Posterior
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.autofocus.lens_world import LensCamera, N
from tests.fakes import FamilyOf, Probable

EVEN = np.zeros((1, N + 2))


def bell(at: float, width: float) -> Posterior:
    """A posterior around a position."""
    return Posterior.of_logits(-0.5 * ((np.arange(-1, N + 1) - at) / width)[None] ** 2, N)


def looks_at(camera: LensCamera, *positions: int) -> FocalStack:
    frames = np.stack([camera.capture(at) for at in positions])
    return FocalStack(frames[None], np.array([positions]), camera.grid)


# What looks say together


def test_positions_nearer_to_the_sharper_look_are_likelier() -> None:
    logs = contrast_logs(np.log([[1.0, 2.0]]), np.array([10, 30]), N)
    assert (np.diff(logs[10:31]) > 0).all()
    assert logs[40] > logs[20] > logs[5]
    np.testing.assert_allclose(logs, contrast_logs(np.log([[2.0, 1.0]]), np.array([30, 10]), N))


def test_looks_that_are_as_sharp_say_nothing() -> None:
    logs = contrast_logs(np.zeros((16, 3)), np.array([10, 20, 30]), N)
    np.testing.assert_allclose(logs, logs[0])


def test_most_parts_decide_and_not_the_one_with_the_most_contrast() -> None:
    sharp = np.array([[0.1, 0.0], [0.1, 0.0], [0.0, 5.0]])  # the third part is much sharper at 30
    logs = contrast_logs(sharp, np.array([10, 30]), N)
    assert logs[10] > logs[30]


def test_no_difference_counts_more_than_the_most() -> None:
    some, more = (contrast_logs(np.array([[by, 0.0]]), np.array([10, 30]), N) for by in (MOST, 9 * MOST))
    np.testing.assert_array_equal(some, more)


@pytest.mark.parametrize("truth", [8, 31, 44])
def test_contrast_tells_on_which_side_the_focus_is(truth: int) -> None:
    found = combined(Posterior.of_logits(EVEN, N), looks_at(LensCamera(truth), 16, 36))
    nearer = np.abs(np.arange(N) - truth) < 8
    assert found.ladder[0][nearer].mean() > 1.3 * found.ladder[0][~nearer].mean()


def test_one_look_has_nothing_to_be_compared_with() -> None:
    posterior = bell(20, 3.0)
    assert combined(posterior, looks_at(LensCamera(), 20)) is posterior


def test_what_is_ruled_out_stays_ruled_out() -> None:
    logits = EVEN.copy()
    logits[0, :20] = -np.inf
    found = combined(Posterior.of_logits(logits, N), looks_at(LensCamera(5), 4, 40))
    assert found.ladder[0, :19].sum() == 0


# When they are enough


def test_risk_grows_with_the_expected_error_and_is_a_share() -> None:
    risks = [risk_of(one, 2) for one in (0.0, 0.5, 1.0, 1.5, 3.0, 40.0)]
    assert risks == sorted(risks)
    assert risks[0] == 0.0
    assert risks[-1] == 1.0
    assert (
        risk_of(1.4, 2) < 0.01 < risk_of(1.6, 2)
    )  # which is what 434 simulated searches for each were counted for


@pytest.mark.parametrize(
    ("reasons", "width", "state"),
    [
        ((), 1.0, State.FOCUSED),
        ((), 6.0, State.UNCERTAIN),
        ((Reason.UNSURE, Reason.NOWHERE_SHARP), 1.0, State.FOCUSED),
        ((Reason.PLATEAU,), 1.0, State.FOCUSED),
        ((Reason.VIEWS_TURNED,), 1.0, State.UNCERTAIN),
    ],
)
def test_an_answer_is_taken_if_its_expected_error_is_small_and_nothing_else_is_wrong(
    reasons: tuple[Reason, ...], width: float, state: State
) -> None:
    posterior = bell(20, width)
    verdict = closed(Verdict(State.UNCERTAIN, 0.5, reasons, risk=0.02), posterior, 0.01, 2)
    found = risk_of(float(posterior.expected_error().min()), 2)
    assert verdict.state is state
    assert verdict.risk == pytest.approx(found if state is State.FOCUSED else max(found, 0.02))
    assert (state is State.FOCUSED) == (verdict.risk <= 0.01)
    assert (state is State.FOCUSED) == (not set(verdict.reasons) - {Reason.PLATEAU})
    if state is State.UNCERTAIN:
        assert set(verdict.reasons) == (set(reasons) or {Reason.UNSURE})


def test_looks_that_have_nothing_to_answer_are_not_closed() -> None:
    nothing = Verdict(State.FAILED, 0.0, (Reason.TOO_DARK,))
    assert closed(nothing, bell(20, 1.0), 0.01, 2) is nothing


def test_whatever_risk_is_accepted_a_broad_answer_is_looked_at_longer() -> None:
    assert is_early(bell(20, EARLY))  # a bell's expected error is 0.8 of its width
    assert not is_early(bell(20, 1.5 * EARLY))


def test_a_lens_stays_where_going_on_would_gain_next_to_nothing() -> None:
    narrow, broad = bell(20, 0.8), bell(20, 10.0)
    assert not stays(narrow, 22, 20)
    assert stays(broad, 21, 20)
    assert stays(narrow, 20, 20)


# When a sweep would help


@pytest.mark.parametrize(
    ("truth", "width", "lost"), [(31.0, 30.0, True), (31.0, 2.0, False), (400.0, 30.0, False)]
)
def test_looks_are_lost_if_they_know_nothing_though_there_is_something_to_see(
    truth: float, width: float, lost: bool
) -> None:
    camera = LensCamera(truth)
    gathered = Gathered({at: camera.capture(at) for at in (8, 30)})
    assert are_lost(FrameScorer(None), gathered, bell(20, width)) is lost


def views_apart(right: int, down: int) -> np.ndarray:
    """Returns two views of a soft texture, the right one moved by so many pixels."""
    texture = 0.5 + ndimage.gaussian_filter(np.random.default_rng(0).standard_normal((140, 140)), 6.0)
    return np.stack([texture[6 - y : 134 - y, 6 - x : 134 - x] for y, x in ((0, 0), (down, right))])


@pytest.mark.parametrize(
    ("right", "down", "turned"), [(4, 0, False), (0, 4, True), (4, 2, False), (2, 4, True), (0, 0, False)]
)
def test_views_that_lie_above_each_other_are_turned(right: int, down: int, turned: bool) -> None:
    looks = [views_apart(0, 0), views_apart(right, down), views_apart(1, 0)]
    assert are_turned(SliceBlocks.of(np.stack(looks).astype(np.float32))) is turned


class Doubter(Probable):
    """Is right, and never sure."""

    width = 4.0

    def logits(self, stack: FocalStack) -> np.ndarray:
        away = (np.arange(len(stack.grid)) - 31) / self.width
        return np.repeat(-0.5 * away[None] ** 2, len(stack.indices), axis=0)


@pytest.mark.parametrize(
    ("width", "start", "fallback", "swept"),
    [(4.0, 20, "sweep", False), (60.0, 28, "sweep", True), (4.0, 20, "always", True)],
)
def test_looks_that_are_not_sure_are_swept_if_they_know_nothing_or_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, width: float, start: int, fallback: str, swept: bool
) -> None:
    row = Method("doubter", "Doubter", Problem.SINGLE_GREEN, FamilyOf(Doubter), "test", looks=ANY)
    monkeypatch.setitem(METHODS, "doubter", row)
    monkeypatch.setattr(Doubter, "width", width)
    camera = LensCamera(31, grid=FocusGrid.learnaf())
    settings = {"start": start, "on_failure": "stay", "fallback": fallback}
    result = Autofocus(camera, method="doubter", **settings).run()
    assert (result.method != "doubter") is swept
    assert swept or result.state is State.UNCERTAIN
    assert swept or len(set(camera.visited)) <= 5  # four looks, and the answer
    assert swept or camera.visited[-1] == result.left_at == result.index
    assert any("fallback always" in note for note in result.notes) is not swept
