"""What pictures show of themselves: subject and noise, shifts of the views, JPEG blocks."""

from dataclasses import fields

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift

from dioptre.confidence.features import look_evidence, sweep_evidence
from dioptre.confidence.sweep_statistics import (
    LAGS,
    Samples,
    Traces,
    blockiness,
    column_steps,
    second_differences,
    shown_blocks,
)

N, SIZE, SHARP = 21, 96, 8


def sweep(noise: float = 0.005, views: int = 1, seed: int = 0) -> np.ndarray:
    """Returns a texture that is sharp at SHARP; the right view moves right as the focus comes nearer."""
    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.random((SIZE, SIZE)), 0.8) + 0.2 * gaussian_filter(
        rng.random((SIZE, SIZE)), 4
    )
    pixels = np.empty((N, views, SIZE, SIZE))
    for at in range(N):
        blurred = gaussian_filter(texture, 0.3 + 0.4 * abs(at - SHARP))
        for view in range(views):
            way = (view - 0.5) * (at - SHARP) * 0.4 if views == 2 else 0.0
            pixels[at, view] = shift(blurred, (0, way), order=1, mode="reflect")
    return (0.2 + 0.4 * pixels + noise * rng.standard_normal(pixels.shape)).astype(np.float32)


def flicker(pixels: np.ndarray, depth: float, seed: int = 1) -> np.ndarray:
    """Returns slices in light that differs from one to the next."""
    light = 1 + depth * np.random.default_rng(seed).standard_normal(len(pixels))
    return (pixels * light[:, None, None, None]).astype(np.float32)


def test_a_still_lens_under_a_lamp_is_told_from_a_sweep() -> None:
    still = np.repeat(sweep(noise=0.0)[SHARP : SHARP + 1], N, axis=0)
    noise = 0.005 * np.random.default_rng(2).standard_normal(still.shape)
    assert Traces.of(flicker(still, 0.02) + noise.astype(np.float32)).is_only_light
    assert Traces.of(flicker(still, 0.1) + noise.astype(np.float32)).is_only_light
    for depth in (0.0, 0.02, 0.3):
        assert not Traces.of(flicker(sweep(), depth)).is_only_light
        assert not Traces.of(flicker(sweep()[SHARP - 2 : SHARP + 3], depth)).is_only_light


def test_another_subject_from_one_slice_on_is_a_cut() -> None:
    whole, other = sweep(), sweep(seed=5)
    for at in (3, SHARP, N - 3):
        assert Traces.of(np.concatenate([whole[:at], other[at:]])).is_cut
        assert Traces.of(flicker(np.concatenate([whole[:at], other[at:]]), 0.1)).is_cut


def test_focusing_is_no_cut_however_wide_the_steps() -> None:
    for step in (1, 2, 4, 6):
        assert not Traces.of(sweep()[::step]).is_cut
        assert not Traces.of(flicker(sweep(), 0.3)[::step]).is_cut
    lone = sweep()
    lone[5] = sweep(seed=5)[5]  # one faulty slice: the same scene before and after
    assert not Traces.of(lone).is_cut


def test_plain_and_black_pictures_have_no_cut() -> None:
    wall = 0.5 + 0.01 * np.random.default_rng(3).standard_normal((9, 1, 64, 64)).astype(np.float32)
    assert not Traces.of(wall).is_cut
    assert not Traces.of(np.zeros((5, 1, 64, 64), np.float32)).is_cut
    assert not Traces.of(sweep()[:2]).is_cut
    assert not Traces.of(sweep()).at(np.array([1, 5, 9, 12])).is_cut


def test_no_light_and_no_detail_are_not_a_lamp() -> None:
    assert not Traces.of(np.zeros((5, 1, 64, 64), np.float32)).is_only_light
    assert not Traces.of(flicker(np.full((5, 1, 64, 64), 0.5), 0.05)).is_only_light
    assert not Traces.of(sweep()[:2]).is_only_light


def test_what_slices_share_peaks_in_focus() -> None:
    traces = Traces.of(sweep())
    for lag in range(1, len(LAGS)):
        assert abs(int(traces.subject(lag).argmax()) - SHARP) <= 1
    assert (traces.likeness(0) < traces.likeness(3)).all()


def test_noise_is_what_slices_do_not_share() -> None:
    rng = np.random.default_rng(0)
    noise = 0.03 * rng.standard_normal((N, 1, SIZE, SIZE)).astype(np.float32)
    traces = Traces.of(0.5 + noise)
    expected = 6 * 0.03**2  # of 2 p - q - r
    assert np.median(traces.noise(0)) == pytest.approx(expected, rel=0.05)
    assert np.abs(traces.subject(0)).max() < 0.1 * expected


def test_second_differences_of_a_ramp_vanish() -> None:
    rows, cols = np.mgrid[:64, :64].astype(np.float32) / 128
    ramp = np.broadcast_to(rows + cols, (2, 2, 64, 64)).astype(np.float32)
    found = second_differences(ramp)
    assert len(found) == len(LAGS)
    assert max(np.abs(one).max() for one in found) < 1e-6


def test_a_blurred_neighbour_is_no_noise_and_a_noisy_one_is() -> None:
    rng = np.random.default_rng(0)
    sharp = rng.random((96, 96)).astype(np.float32)
    blurred = gaussian_filter(sharp, 1.0)
    noisy = [np.full_like(sharp, 0.5) + rng.normal(0, 0.1, sharp.shape).astype(np.float32) for _ in range(2)]
    through_focus, bump = (Traces.of(np.stack(some)[:, None]) for some in ((blurred, sharp), noisy))
    for lag in range(len(LAGS)):
        assert through_focus.unshared(lag)[0] < 0.2 * through_focus.noise(lag)[0]
        assert bump.unshared(lag)[0] > 0.8 * bump.noise(lag)[0]


@pytest.mark.parametrize("size", [16, 17, 40, 300])
def test_pictures_of_all_sizes_have_traces(size: int) -> None:
    pixels = np.random.default_rng(0).random((4, 2, size, size + 3), dtype=np.float32)
    traces = Traces.of(pixels)
    assert traces.detail.shape == (len(LAGS), 4)
    assert traces.common.shape == (len(LAGS), 3)
    assert all(np.isfinite(value) for value in sweep_evidence(traces, 1).values())


def test_the_shift_between_views_is_found() -> None:
    texture = gaussian_filter(np.random.default_rng(0).random((SIZE, SIZE)), 6)
    texture = 0.5 + 3 * (texture - texture.mean())
    for down, right in ((0, 1.5), (0, -1.5), (1.5, 0)):
        other = 0.7 * shift(texture, (down, right), order=3, mode="reflect")
        traces = Traces.of(np.stack([texture, other])[None].astype(np.float32))
        block = SIZE // 32
        assert traces.right[0] * block == pytest.approx(right, abs=0.4)
        assert traces.down[0] * block == pytest.approx(down, abs=0.4)
        assert traces.balance[0] == pytest.approx(np.log(0.7), abs=0.02)


def test_jpeg_has_blocks() -> None:
    clean = sweep()[SHARP : SHARP + 1]
    codes = np.rint(255 * np.clip(clean[0, 0], 0, 1)).astype(np.uint8)
    file = cv2.imencode(".jpg", codes, [cv2.IMWRITE_JPEG_QUALITY, 8])[1]
    packed = cv2.imdecode(file, cv2.IMREAD_GRAYSCALE).astype(np.float32) / 255
    blocks, none = (blockiness(column_steps(one)) for one in (packed[None, None], clean))
    assert blocks > 3 * abs(none) + 0.1


@pytest.mark.parametrize("period", [2, 4])
def test_columns_that_were_filled_in_are_no_blocks(period: int) -> None:
    clean = sweep(views=1)
    filled = clean.copy()
    for more in range(1, period):
        before, after = clean[..., :-period:period], clean[..., period::period]
        filled[..., more : -period + more : period] = before + (after - before) * more / period
    assert blockiness(column_steps(filled)) < 0.1
    everywhere = np.abs(np.diff(filled, axis=3)).mean(axis=(0, 1, 2))
    assert everywhere.std() > 0.05 * everywhere.mean()  # steps do differ from column to column


def test_some_slices_have_their_own_traces() -> None:
    pixels, at = sweep(views=2), np.array([3, 11])
    some, alone = Traces.of(pixels).at(at), Traces.of(pixels[at])
    np.testing.assert_allclose(some.detail, alone.detail)
    np.testing.assert_allclose(some.right, alone.right, atol=1e-6)
    assert look_evidence(some, at, 9, N)["move"] == look_evidence(alone, at, 9, N)["move"]


# Evidence


def evidence(pixels: np.ndarray, answer: int = SHARP) -> dict[str, float]:
    return dict(sweep_evidence(Traces.of(pixels.astype(np.float32)), answer))


def test_an_answer_away_from_the_subject_is_astray() -> None:
    right, wrong = evidence(sweep()), evidence(sweep(), SHARP + 8)
    for name in ("subject-astray-4", "parts-astray"):
        assert wrong[name] > right[name] + 1
    assert wrong["height-4"] < 0.5 < right["height-4"]


def test_a_bump_of_noise_is_seen_where_it_is() -> None:
    pixels = sweep()
    pixels[14:18] += 0.05 * np.random.default_rng(1).standard_normal(pixels[14:18].shape)
    clean, bumped = evidence(sweep(), 15), evidence(pixels, 15)
    for name in ("noise-here", "noise-range", "noise-jump"):
        assert bumped[name] > clean[name] + 0.5


def test_noise_that_is_small_beside_the_detail_may_change() -> None:
    pixels = sweep(noise=1e-5)
    louder = pixels.copy()
    louder[14:18] += 1e-4 * np.random.default_rng(1).standard_normal(pixels[14:18].shape)
    assert evidence(louder)["noise-range"] == pytest.approx(evidence(pixels)["noise-range"], abs=0.05)


def test_slices_that_do_not_follow_are_seen() -> None:
    clean = sweep()
    frozen, black, flicker = clean.copy(), clean.copy(), clean.copy()
    frozen[10:13] = frozen[10]
    black[4] = 0
    flicker *= np.random.default_rng(0).uniform(0.8, 1.2, (N, 1, 1, 1))
    assert evidence(clean)["repeated"] == 0.0 < evidence(frozen)["repeated"]
    assert evidence(black)["darkest"] > evidence(clean)["darkest"] + 3
    assert evidence(flicker)["flicker"] > evidence(clean)["flicker"] + 1
    replaced = np.concatenate([clean[:12], sweep(seed=5)[12:]])
    assert evidence(replaced)["unlike"] > evidence(clean)["unlike"] + 0.3


def test_views_that_are_exchanged_or_turned_are_seen() -> None:
    pixels = sweep(views=2)
    assert evidence(pixels)["view-exchanged"] < -0.1
    assert evidence(pixels[:, ::-1])["view-exchanged"] > 0.1
    turned = np.rot90(pixels, 1, (2, 3))
    assert evidence(turned)["view-turned"] > 0 > evidence(pixels)["view-turned"]
    assert "view-turned" not in evidence(pixels[:, :1])


def test_a_move_against_the_shift_of_the_views_is_seen() -> None:
    traces = Traces.of(sweep(views=2)[[16]])  # the lens is too near: the subject lies behind
    towards, away = (look_evidence(traces, np.array([16]), answer, N) for answer in (8, 20))
    assert towards["view-against"] < 0 < away["view-against"]


@pytest.mark.parametrize("views", [1, 2])
def test_traces_of_slices_one_by_one_are_those_of_all(views: int) -> None:
    pixels = sweep(views=views)
    blocks = shown_blocks(len(pixels))
    samples = [Samples.of(pixels[at : at + 1], blocks[at : at + 1]) for at in range(len(pixels))]
    one_by_one, whole = Traces.of_samples(samples), Traces.of(pixels)
    for field in fields(Traces):
        np.testing.assert_array_equal(getattr(one_by_one, field.name), getattr(whole, field.name))
