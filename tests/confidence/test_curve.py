import numpy as np
import pytest

from dioptre.confidence.curve import CurveNoise, peak_position, stands_out


def bump(at: float, n: int = 21, width: float = 2.0) -> np.ndarray:
    return np.exp(-(((np.arange(n) - at) / width) ** 2))


@pytest.mark.parametrize("at", [7.0, 7.3, 12.6])
def test_a_peak_lies_between_slices(at: float) -> None:
    assert peak_position(bump(at)) == pytest.approx(at, abs=0.1)


def test_a_peak_at_the_end_is_the_end() -> None:
    assert peak_position(bump(-3.0)) == 0.0


def test_a_bump_stands_out_of_its_noise_and_a_ripple_does_not() -> None:
    rng = np.random.default_rng(0)
    for height, clear in ((1.0, True), (0.02, False)):
        curve = height * bump(10.0) + 0.02 * rng.standard_normal(21)
        scaled = (curve - curve.min()) / np.ptp(curve)
        needed, peak = CurveNoise.of(scaled, None).needed_rise(21), int(scaled.argmax())
        assert any(stands_out(1.0, side, needed) for side in (scaled[:peak], scaled[peak + 1 :])) is clear
