"""The disparity methods: what they answer, how sure they are, and what they refuse."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import dioptre
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import FileError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, best_index, find_method
from dioptre.methods.calibration import find_calibration
from dioptre.methods.disparity import KINDS, SMALL_PX, candidates_of, posterior_of
from dioptre.methods.matching import match_zncc
from dioptre.optics import CameraModel
from dioptre.problem import Problem
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

PAPERS = ("zncc-disparity", "ssd-disparity", "learned-depth")
OURS = ("dioptre-zncc-disparity", "dioptre-ssd-disparity", "dioptre-learned-depth")
KEYS = (*PAPERS, *OURS)
CAMERA = CameraModel.pixel3()
SIZE = 128


@cache
def plane(index: int, noise: float = 0.05) -> FocalStack:
    """A plane in the middle of the field that is sharp at a position of the grid."""
    rng = np.random.default_rng(index)
    texture = dead_leaves(SIZE + 80, SIZE + 80, rng)
    depth = float(CAMERA.grid.dioptres[index])
    pixels = plane_stack(CAMERA, depth, texture, rng, size=SIZE, shot=noise, read=noise)
    return FocalStack.full(pixels[None], CAMERA.grid, np.zeros((1, 2)))


def look(stack: FocalStack, at: int) -> FocalStack:
    return stack.at([at])


def answer(key: str, looks: FocalStack) -> int:
    return int(best_index(METHODS[key].build().scores(looks))[0])


def views(stack: FocalStack, pixels: np.ndarray) -> FocalStack:
    return replace(stack, pixels=np.ascontiguousarray(pixels, dtype=np.float32))


# Answers


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("truth", "start"), [(10, 10), (10, 20), (20, 10), (40, 30)])
def test_one_look_at_a_plane_tells_where_it_is_sharp(key: str, truth: int, start: int) -> None:
    assert answer(key, look(plane(truth), start)) == pytest.approx(truth, abs=3)


@pytest.mark.parametrize(("truth", "start"), [(24, 2), (24, 44)])
def test_ours_reach_over_the_ladder_and_the_papers_a_part_of_the_way(truth: int, start: int) -> None:
    for key in OURS:
        assert answer(key, look(plane(truth), start)) == pytest.approx(truth, abs=5)
    first = answer("zncc-disparity", look(plane(truth), start))
    assert 3 < abs(first - start) < abs(truth - start) - 1
    assert answer("zncc-disparity", look(plane(truth), first)) == pytest.approx(truth, abs=2)


@pytest.mark.parametrize("key", KEYS)
def test_a_thing_behind_the_focus_plane_has_a_positive_disparity(key: str) -> None:
    near_focus = look(plane(10), 30).pixels[:, 0]
    found = KINDS[key].find(near_focus[:, 0], near_focus[:, 1], find_calibration("center"))
    assert found.shifts[0] > 2
    assert answer(key, look(plane(10), 30)) < 30


@pytest.mark.parametrize("key", KEYS)
def test_exchanged_views_lead_to_the_other_side(key: str) -> None:
    seen = look(plane(24), 30)
    exchanged = views(seen, seen.pixels[:, :, ::-1])
    assert answer(key, seen) < 30 < answer(key, exchanged)
    assert answer(key, seen) + answer(key, exchanged) == pytest.approx(60, abs=3)


@pytest.mark.parametrize("key", KEYS)
def test_gain_and_shading_of_a_view_do_not_matter(key: str) -> None:
    seen = look(plane(24), 32)
    shaded = seen.pixels.copy()
    shaded[:, :, 1] *= 0.7 * np.linspace(0.95, 1.05, SIZE, dtype=np.float32)
    assert answer(key, views(seen, shaded)) == pytest.approx(answer(key, seen), abs=1)


def test_the_answer_is_the_position_nearest_to_the_papers_formula() -> None:
    table = find_calibration("center")
    for truth, start in ((12, 20), (30, 22), (24, 24)):
        seen = look(plane(truth), start)
        shift = match_zncc(seen.pixels[:, 0, 0], seen.pixels[:, 0, 1], SMALL_PX).shifts
        wanted = CAMERA.grid.dioptres[start] - shift / table.gain_at(np.zeros((1, 2)))
        assert answer("zncc-disparity", seen) == CAMERA.grid.nearest_index(wanted)[0]


def test_the_place_in_the_field_decides_the_gain() -> None:
    seen = look(plane(24), 44)
    moves = [
        44 - answer("dioptre-zncc-disparity", replace(seen, where=np.array([place])))
        for place in ((0.0, 0.0), (0.0, -1.0))  # C is smaller at the upper border: the same shift means more
    ]
    assert moves[1] > moves[0] + 2
    unknown = replace(seen, where=None)
    assert 44 - answer("dioptre-zncc-disparity", unknown) == moves[0]


@pytest.mark.parametrize("key", KEYS)
def test_a_batch_of_six_equals_six_of_one(key: str) -> None:
    seen = [look(plane(truth), start) for truth, start in ((10, 5), (20, 30), (24, 24)) for _ in (0, 1)]
    batch = FocalStack(
        np.concatenate([one.pixels for one in seen]),
        np.concatenate([one.indices for one in seen]),
        CAMERA.grid,
        np.zeros((6, 2)),
    )
    method = METHODS[key].build()
    together = method.posterior(batch)
    assert together is not None
    for at, one in enumerate(seen):
        alone = method.posterior(one)
        assert alone is not None
        np.testing.assert_allclose(alone.logs[0], together.logs[at], rtol=1e-9)


# How sure


@pytest.mark.parametrize("key", OURS)
def test_a_plane_is_focused_with_confidence(key: str) -> None:
    seen = look(plane(24), 30)
    result = dioptre.focus_from(seen.pixels[0, 0], at=30, method=key, white=1.0, risk=0.5)
    assert result.state is State.FOCUSED
    assert result.confidence > 0.3
    assert result.index == pytest.approx(24, abs=2)


@pytest.mark.parametrize("key", KEYS)
def test_noise_alone_gives_a_broad_posterior_and_is_no_focus(key: str) -> None:
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(0.3, 0.01, (2, SIZE, SIZE)).astype(np.float32)
        result = dioptre.focus_from(noise, at=24, method=key, white=1.0)
        assert result.state is not State.FOCUSED
        assert result.confidence <= 0.5
        assert result.expected_error is not None
        assert result.expected_error > 5


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_flat_grey_fails_and_does_not_crash(key: str, value: float) -> None:
    result = dioptre.focus_from(np.full((2, SIZE, SIZE), value, np.float32), at=24, method=key, white=1.0)
    assert result.state is State.FAILED
    assert np.isfinite(result.scores).all()


@pytest.mark.parametrize("key", OURS)  # in a small range there is but one period
def test_a_periodic_texture_is_ambiguous_and_not_confident(key: str) -> None:
    rng = np.random.default_rng(0)
    wave = 0.4 + 0.2 * np.sin(2 * np.pi * np.arange(SIZE) / 6)[None, None, :]
    pixels = np.broadcast_to(wave, (2, SIZE, SIZE)) + rng.normal(0, 0.01, (2, SIZE, SIZE))
    result = dioptre.focus_from(pixels.astype(np.float32), at=24, method=key, white=1.0)
    assert result.state is State.UNCERTAIN
    assert Reason.AMBIGUOUS in result.reasons or Reason.UNSURE in result.reasons
    assert result.expected_error is not None
    assert len(result.verdict.candidates) > 1 or result.expected_error > 10
    assert result.confidence < 0.75


@pytest.mark.parametrize("key", KEYS)
def test_a_look_with_a_pixel_that_is_not_finite_says_nothing(key: str) -> None:
    broken = look(plane(24), 30).pixels.copy()
    broken[0, 0, 1, 5, 5] = np.nan
    posterior = METHODS[key].build().posterior(views(look(plane(24), 30), broken))
    assert posterior is not None
    assert np.ptp(posterior.logs) < 1e-9


@pytest.mark.parametrize("key", OURS)
def test_a_disparity_past_the_end_of_the_ladder_says_so(key: str) -> None:
    rng = np.random.default_rng(1)
    texture = gaussian_filter(rng.standard_normal((SIZE, SIZE + 40)), 3.0)
    texture = 0.4 + 0.1 * texture / texture.std()
    for shift, at, reason in ((8, 10, Reason.BEYOND_FAR), (-8, 38, Reason.BEYOND_NEAR)):
        pair = np.stack([texture[:, 20 : 20 + SIZE], texture[:, 20 - shift : 20 - shift + SIZE]])
        result = dioptre.focus_from(pair.astype(np.float32), at=at, method=key, white=1.0)
        assert result.state is State.UNCERTAIN
        assert reason in result.reasons
        assert result.index == (0 if shift > 0 else 48)


def test_more_noise_and_less_likeness_make_a_posterior_broader() -> None:
    table = find_calibration("center")
    fit, errors = table.fit_of("dioptre-zncc-disparity"), []
    for noise in (0.0, 0.05, 0.4):
        rng = np.random.default_rng(3)
        seen = look(plane(24), 30).pixels[:, 0]
        noisy = (seen + rng.normal(0, noise, seen.shape)).astype(np.float32)
        match = match_zncc(noisy[:, 0], noisy[:, 1], table.reach)
        posterior = posterior_of(match, fit, table.grid, np.array([3.0]), np.ones(1))
        errors.append(float(posterior.expected_error().min()))
    assert errors[0] < errors[1] < errors[2]


def test_what_the_candidates_lack_to_one_is_that_nothing_matched() -> None:
    table = find_calibration("center")
    seen = look(plane(24), 30).pixels[:, 0]
    trust = table.fit_of("dioptre-zncc-disparity").trust
    sure = candidates_of(match_zncc(seen[:, 0], seen[:, 1], table.reach), trust)[1]
    assert 0.9 < sure[0, 0] <= 1
    flat = np.full((1, SIZE, SIZE), 0.5, np.float32)
    assert candidates_of(match_zncc(flat, flat, table.reach), trust)[1].sum() == 0


# Keys and refusals


def test_the_rows_may_be_asked_again_and_three_are_the_papers() -> None:
    for key in KEYS:
        row = METHODS[key]
        assert (row.problem, row.looks, row.again) == (Problem.SINGLE_DUAL_PIXEL, 1, True)
        assert row.in_paper == (key in PAPERS)
        table = find_calibration("center").identity
        assert (row.build().identity == table) == ("learned" not in key)


def test_a_key_may_name_its_calibration(tmp_path: Path) -> None:
    left = find_method("zncc-disparity@left")
    assert left.key == "zncc-disparity@left"
    assert left.build().identity == find_calibration("left").identity
    path = tmp_path / "mine.toml"
    find_calibration("left").to_toml(path)
    assert find_method(f"ssd-disparity@{path}").build().identity == find_calibration("left").identity
    with pytest.raises(MethodError, match="there is no method"):
        find_method("census-transform@left")
    with pytest.raises(FileError, match="no calibration 'nobody'"):
        find_method("zncc-disparity@nobody")


@pytest.mark.parametrize("key", KEYS)
def test_what_cannot_be_seen_is_refused_in_a_sentence(key: str) -> None:
    method = METHODS[key].build()
    assert "only green" in str(method.refusal(CAMERA.grid, (128, 128), 1))
    assert "at least" in str(method.refusal(CAMERA.grid, (64, 24), 2))
    assert "positions, not 17" in str(method.refusal(FocusGrid.uniform(n=17), (128, 128), 2))
    assert "frames of 2016 x 1512" in str(method.refusal(CAMERA.grid, (3024, 4032), 2))
    assert method.refusal(CAMERA.grid, (128, 128), 2) is None
    with pytest.raises(MethodError, match="takes one look, but the stack has 2"):
        method.posterior(plane(24).at([20, 30]))
    with pytest.raises(MethodError, match="only green"):
        method.posterior(look(plane(24), 20).green())
