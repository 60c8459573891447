"""Light: ranges that are drawn from, the dark, steps of exposure, slopes, highlights."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.simulate.light import (
    LEAST_DIMMED,
    LESS_LIGHT,
    Lighting,
    add_highlights,
    draw_exposure,
    draw_slope,
    draw_steps,
)

LIGHTING = Lighting()


def test_brightness_and_noise_stay_in_their_ranges() -> None:
    drawn = [draw_exposure("normal", LIGHTING, np.random.default_rng(seed)) for seed in range(60)]
    exposures, shots = np.array([one[0] for one in drawn]), np.array([one[1].shot for one in drawn])
    for values, (low, high) in ((exposures, LIGHTING.brightness), (shots, LIGHTING.shot)):
        assert low <= values.min() <= values.max() <= high
        assert values.max() > 5 * values.min()


def test_the_dark_is_darker_and_noisier() -> None:
    for seed in range(20):
        normal, clean = draw_exposure("normal", LIGHTING, np.random.default_rng(seed))
        dark, noisy = draw_exposure("dark", LIGHTING, np.random.default_rng(seed))
        assert LEAST_DIMMED <= normal / dark <= LESS_LIGHT[1]
        assert noisy.shot >= clean.shot


def test_exposure_steps_in_the_stated_share_of_stacks() -> None:
    stacks = [
        draw_steps(49, replace(LIGHTING, steps=0.5), np.random.default_rng(seed)) for seed in range(120)
    ]
    jumps = np.array([np.abs(np.diff(np.log(one))).max() for one in stacks])
    assert np.mean(jumps > 0.045) == pytest.approx(0.5, abs=0.15)
    steady = [draw_steps(49, replace(LIGHTING, steps=0.0), np.random.default_rng(seed)) for seed in range(30)]
    assert max(np.ptp(one) for one in steady) < 0.08


def test_light_falls_off_smoothly_from_1_in_the_middle() -> None:
    slope = draw_slope(200, LIGHTING, np.random.default_rng(1))
    assert slope[100, 100] == pytest.approx(1.0)
    second = np.diff(np.log(slope), n=2, axis=0)
    assert np.abs(second).max() < 1e-5


def test_highlights_are_few_and_far_above_white() -> None:
    picture = np.full((200, 200), 0.5, np.float32)
    lit = add_highlights(picture, np.random.default_rng(0))
    assert lit.max() > 4
    assert 0 < np.mean(lit != picture) < 0.01
    assert picture.max() == 0.5
