"""The sweep: coarse to fine, in few frames, over short ladders and long ones, and among stars."""

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.autofocus.sweep import COARSE, FrameScorer, around, between, first_round, fitted_peak
from dioptre.confidence.reasons import Reason, State
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from tests.autofocus.lens_world import LensCamera


@pytest.mark.parametrize("n", [2, 9, 49, 101, 1001, 5000])
def test_the_first_round_reaches_both_ends(n: int) -> None:
    places = first_round(0, n - 1)
    assert (places[0], places[-1]) == (0, n - 1)
    assert min(n, COARSE[0]) <= len(places) <= COARSE[1]


def test_around_an_answer_a_few_are_taken() -> None:
    assert around(10, 22).tolist() == [12, 16, 20] or len(around(10, 22)) <= 4
    assert all(10 <= one <= 22 for one in around(10, 22))


def test_the_gaps_beside_the_sharpest_are_halved_until_they_are_fine() -> None:
    places = np.array([0, 10, 20, 30, 40])
    assert between(places, np.array([0.0, 0.1, 1.0, 0.3, 0.0])) == [15, 25]
    fine = np.array([14, 16, 18, 20, 22, 24, 26])
    assert between(fine, 1 - ((fine - 20) / 8.0) ** 2) == []
    assert between(np.array([3, 4, 5]), np.array([0.0, 1.0, 0.0])) == []
    assert between(np.array([0, 8]), np.array([0.0, 1.0])) == [4]


def test_the_peak_lies_between_positions() -> None:
    places = np.array([10, 12, 14, 15, 17, 20])
    assert fitted_peak(places, 5.0 - (places - 14.3) ** 2) == pytest.approx(14.3, abs=0.1)
    assert fitted_peak(places, np.exp(-(((places - 14.3) / 5) ** 2))) == pytest.approx(14.3, abs=0.02)
    assert fitted_peak(places, places.astype(float)) == 20.0


@pytest.mark.parametrize("truth", [90.0, 367.0, 700.0])
def test_a_long_ladder_takes_few_frames(truth: float) -> None:
    camera = LensCamera(truth, n=1001, growth=0.02)
    result = Autofocus(camera, risk=0.2).run()
    assert result.state is State.FOCUSED
    assert abs(result.index - truth) <= 10
    assert len(camera.visited) <= 34
    assert result.notes  # that the network does not know such a ladder


def stars(n: int, truth: float) -> LensCamera:
    class Stars(LensCamera):
        """Points of light in the dark, whose width grows away from focus as a telescope's."""

        places = np.random.default_rng(1).uniform(20, 236, (8, 2))
        light = np.random.default_rng(2).uniform(0.3, 1.0, 8)

        def __init__(self) -> None:
            super().__init__(truth, n)
            self.shape = (256, 256)
            self.grid = FocusGrid(range(n))

        def see(self, at: float) -> np.ndarray:
            sigma = np.hypot(1.2, 0.02 * (at - self.truth))
            y, x = np.mgrid[:256, :256]
            sky = 0.01 + 0.001 * self.rng.standard_normal((256, 256))
            for (row, col), light in zip(self.places, self.light, strict=True):
                box = slice(max(int(row) - 40, 0), int(row) + 40), slice(max(int(col) - 40, 0), int(col) + 40)
                away = (y[box] - row) ** 2 + (x[box] - col) ** 2
                sky[box] += 0.8 * light * (1.2 / sigma) ** 2 * np.exp(-away / (2 * sigma**2))
            return np.clip(sky, 0, 1).astype(np.float32)[None]

    return Stars()


def test_stars_are_measured_where_their_light_is() -> None:
    camera = stars(1001, 367.0)
    result = Autofocus(camera, start=900, risk=0.2).run()
    assert result.state is State.FOCUSED
    assert abs(result.index - 367) <= 3
    assert result.method == "gradient-magnitude-variance"
    assert Reason.TOO_DARK not in result.reasons
    assert len(camera.visited) < 40


def test_a_sweep_is_scored_by_the_measure_that_parts_vote_by() -> None:
    assert FrameScorer(METHODS["dioptre-vote"]).method.key == "dioptre-contrast"
    assert FrameScorer(METHODS["wavelet-sum-2"]).method.key == "wavelet-sum-2"
