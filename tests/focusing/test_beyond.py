"""Subjects that the lens cannot reach: nearer than its near end, or farther than its far end."""

import numpy as np
import pytest

from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import Exposure
from dioptre.confidence.model import RISK
from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict, VerdictContext, judge
from dioptre.methods import METHODS, best_index
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

CAMERA = CameraModel.pixel3()
N = len(CAMERA.grid)
PAST = (-14, -8, -4, N + 3, N + 7, N + 13)  # positions, as if the ladder went on
RELATIVE = ("dioptre-single-dp", "dioptre-any-dp", "dioptre-single-green", "dioptre-any-green")


def dioptres_at(position: int) -> float:
    """Returns the focus at a position of the ladder, or where it would be if the ladder went on.

    Fewer than no dioptres stand for a lens whose ladder ends sooner: blur depends on differences alone.
    """
    grid = CAMERA.grid.dioptres
    if position < 0:
        return float(grid[0] + position * (grid[1] - grid[0]))
    if position >= N:
        return float(grid[-1] + (position - N + 1) * (grid[-1] - grid[-2]))
    return float(grid[position])


def looks_from_every_start(position: int, seed: int) -> FocalStack:
    rng = np.random.default_rng(seed)
    texture = 0.25 * dead_leaves(300, 300, rng)
    pixels = plane_stack(CAMERA, dioptres_at(position), texture, rng, 128, shot=0.3, read=1.0)
    return FocalStack(pixels[:, None], np.arange(N)[:, None], CAMERA.grid, np.zeros((N, 2)))


@pytest.fixture(scope="module")
def subjects() -> dict[int, FocalStack]:
    return {position: looks_from_every_start(position, seed) for seed, position in enumerate((*PAST, 24))}


def judged(key: str, looks: FocalStack, risk: float = RISK) -> tuple[np.ndarray, list[Verdict]]:
    posterior = METHODS[key].build().posterior(looks)
    assert posterior is not None
    scores, verdicts = posterior.scores(), list[Verdict]()
    for at in range(N):
        pixels = looks.pixels[at]
        blocks, lit = SliceBlocks.of(pixels), Exposure.of(pixels)
        context = VerdictContext(risk, looks=np.array([float(at)]), grid=N)
        seen = blocks if METHODS[key].views == 2 else blocks.one_view()
        verdicts.append(judge(peak_position(scores[at]), seen, lit, posterior.scene(at), context))
    return best_index(scores), verdicts


@pytest.mark.parametrize("key", RELATIVE)
@pytest.mark.parametrize("position", PAST)
def test_nobody_is_sure_of_a_subject_out_of_reach(
    subjects: dict[int, FocalStack], key: str, position: int
) -> None:
    answers, verdicts = judged(key, subjects[position])
    sure_and_wrong = [
        start
        for start, (answer, verdict) in enumerate(zip(answers, verdicts, strict=True))
        if verdict.state is State.FOCUSED and abs(answer - position) > 8
    ]
    assert len(sure_and_wrong) <= 2, f"from {sure_and_wrong}"


@pytest.mark.parametrize("key", ["dioptre-single-dp", "dioptre-any-dp"])
@pytest.mark.parametrize("position", PAST)
def test_two_views_tell_which_end_the_subject_is_beyond(
    subjects: dict[int, FocalStack], key: str, position: int
) -> None:
    answers, verdicts = judged(key, subjects[position])
    end, reason = (0, Reason.BEYOND_FAR) if position < 0 else (N - 1, Reason.BEYOND_NEAR)
    near = [start for start in range(N) if abs(start - end) <= 16]
    least = 0.9 if abs(position - end) > 4 else 0.5  # a focus just beyond an end looks like one at it
    assert np.mean([reason in verdicts[start].reasons for start in near]) > least
    assert all(answers[start] == end for start in near if reason in verdicts[start].reasons)


@pytest.mark.parametrize("key", ["dioptre-single-dp", "dioptre-any-dp"])
def test_a_subject_within_reach_is_not_said_to_be_beyond(subjects: dict[int, FocalStack], key: str) -> None:
    answers, verdicts = judged(key, subjects[24], risk=0.5)
    assert np.mean([verdict.state is State.FOCUSED for verdict in verdicts]) > 0.9
    assert np.abs(answers - 24).max() <= 3
    beyond = {Reason.BEYOND_FAR, Reason.BEYOND_NEAR}
    assert not any(beyond & set(verdict.reasons) for verdict in verdicts)
