"""Star fields and other pictures that are mostly black."""

import numpy as np
import pytest

from dioptre.confidence.reasons import Reason, State
from dioptre.focusing.bright_regions import WINDOW, bright_places, side_by_side
from dioptre.focusing.focus import BRIGHTEST, focus
from dioptre.methods import scores
from dioptre.stack import FocalStack

N, FOCUS = 15, 6
SHAPE = (192, 256)
GAIN = 3e4  # electrons at white
FAINT = 0.05  # the risk that is accepted: a few faint stars are less sure than a lit scene


def light_of(star: tuple[float, float], flux: float, away: float, kind: str) -> np.ndarray:
    """Returns a star's light on the sensor: a Gaussian of the seeing, or a defocused disc blurred by it."""
    row, col = star
    rows, cols = np.mgrid[: SHAPE[0], : SHAPE[1]]
    radius = np.hypot(rows - row, cols - col)
    if kind == "gaussian":
        light = np.exp(-0.5 * (radius / np.hypot(1.3, 0.8 * away)) ** 2)
    else:  # the edge is as soft as the seeing, and of a disc without radius a star remains
        light = 1 / (1 + np.exp((radius - 1.2 * away) / 0.8))
    return flux * light / light.sum()


def star_field(kind: str, stars: int, brightest: float, sky: float, seed: int = 0) -> np.ndarray:
    """Returns slices of a star field through focus, with shot and read noise."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(10, np.array(SHAPE) - 10, (stars, 2))
    fluxes = brightest * 10.6 * 10 ** (-0.4 * rng.uniform(0, 3, stars))  # as a peak of 1.3 pixels' deviation
    slices = []
    for index in range(N):
        light = np.full(SHAPE, sky)
        for (row, col), flux in zip(places, fluxes, strict=True):
            light += light_of((row, col), flux, abs(index - FOCUS), kind)
        slices.append(rng.poisson(GAIN * light) / GAIN + 0.0015 * rng.standard_normal(SHAPE))
    return np.clip(slices, 0, 1).astype(np.float32)


@pytest.mark.parametrize("kind", ["gaussian", "disc"])
@pytest.mark.parametrize(("stars", "brightest", "sky"), [(25, 0.6, 0.02), (12, 0.2, 0.002), (6, 0.15, 0.005)])
def test_stars_are_focused_however_black_the_sky_is(
    kind: str, stars: int, brightest: float, sky: float
) -> None:
    field = star_field(kind, stars, brightest, sky)
    for method in (
        "dioptre-vote",
        "local-norm-dist-sq-4",
        "gradient-magnitude-variance",
        "laplacian-variance",
    ):
        result = focus(field, method, risk=FAINT)
        assert result.state is State.FOCUSED, (method, result.risk, result.reasons)
        assert abs(result.index - FOCUS) <= 1
        assert Reason.TOO_DARK not in result.reasons


def test_where_the_brightest_places_decide_the_scores_are_those_of_the_region() -> None:
    field = star_field("disc", 4, 0.08, 0.02)  # nearly lost in the noise of the sky
    x, y, w, h = 0, 4, 252, 188
    for roi, region in ((None, field), ((x, y, w, h), field[:, y : y + h, x : x + w])):
        result = focus(field, "laplacian-variance", roi=roi)
        own = scores(FocalStack.full(np.ascontiguousarray(region)[None, :, None]), ["laplacian-variance"])
        assert result.roi == roi
        assert BRIGHTEST in result.notes
        assert abs(result.index - FOCUS) <= 1
        np.testing.assert_allclose(result.scores, own["laplacian-variance"][0], rtol=1e-5)


def test_a_field_without_stars_is_flat() -> None:
    result = focus(star_field("gaussian", 0, 0.0, 0.002))
    assert result.state is State.FAILED
    assert Reason.FLAT_CURVE in result.reasons
    assert Reason.TOO_DARK in result.reasons


def test_the_brightest_places_are_found_once_each() -> None:
    field = star_field("gaussian", 0, 0.0, 0.01)
    stars = [(20, 30), (100, 200), (150, 60), (60, 120)]
    for row, col in stars:
        field[:, row : row + 3, col : col + 3] += 0.3
    places = bright_places(field.mean(axis=0))
    assert places is not None
    assert len(places) == 4
    for row, col in stars:
        inside = (places[:, 0] <= row) & (row < places[:, 0] + WINDOW)
        assert (inside & (places[:, 1] <= col) & (col < places[:, 1] + WINDOW)).any()
    assert places.min() >= 0
    assert (places + WINDOW <= np.array(SHAPE)).all()


def test_what_is_not_mostly_black_is_looked_at_whole() -> None:
    rng = np.random.default_rng(0)
    assert bright_places(rng.random((192, 192))) is None
    assert bright_places(np.zeros((192, 192))) is None
    assert bright_places(np.full((96, 96), 0.1)) is None
    holed = np.zeros((192, 192))
    holed[0, 0] = np.nan
    assert bright_places(holed) is None


def test_windows_lie_side_by_side() -> None:
    frame = np.arange(128 * 192, dtype=np.float32).reshape(1, 128, 192)
    places = np.array([[0, 0], [0, 128], [5, 9], [64, 0], [64, 128], [7, 7]])
    joined = side_by_side(frame, places)
    assert joined.shape == (1, 2 * WINDOW, 3 * WINDOW)
    for at, (row, col) in enumerate(places):
        y, x = WINDOW * (at // 3), WINDOW * (at % 3)
        np.testing.assert_array_equal(
            joined[..., y : y + WINDOW, x : x + WINDOW], frame[..., row : row + WINDOW, col : col + WINDOW]
        )


def test_a_lit_picture_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    monkeypatch.setattr(
        "dioptre.focusing.bright_regions.mean_light", lambda *_: read.append("again") or np.zeros(SHAPE)
    )
    noise = 0.01 * np.random.default_rng(0).standard_normal((7, *SHAPE)).astype(np.float32)
    for light, again in ((0.5, False), (0.1, True)):
        read.clear()
        assert focus(light + noise).state is State.FAILED
        assert bool(read) is again
