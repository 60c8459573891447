"""Pictures of several depths: which there are, and which decides."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from dioptre.confidence.reasons import Reason, State
from dioptre.errors import InputError
from dioptre.focusing.arguments import DEFAULT_MEASURE
from dioptre.focusing.depths import (
    Subject,
    centre_weight,
    find_depths,
    joined_on_plateau,
    to_subject,
    without_twins,
)
from dioptre.focusing.focus import focus
from dioptre.focusing.focus_map import focus_map
from dioptre.focusing.result import Depth, FocusResult, Roi
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves

N, SIZE = 25, 128
GRID = FocusGrid.of_dioptres(np.linspace(0.3, 8.0, N))
FAR, MIDWAY, NEAR = 4, 13, 21
FRAME = Roi(0, 0, SIZE, SIZE)


# Tiles


def tiles_at(peaks: list[list[int]], contrast: float = 1.0) -> np.ndarray:
    """Returns the curves of tiles that peak at these slices, row by row."""
    noise = 0.002 * np.random.default_rng(0).standard_normal((np.size(peaks), N))
    bells = np.exp(-0.5 * ((np.arange(N)[None] - np.ravel(peaks)[:, None]) / 2.5) ** 2)
    return contrast * bells + noise


def test_tiles_that_peak_together_are_one_depth() -> None:
    found = find_depths(tiles_at([[12, 13, 12, 12], [12, 12, 11, 12]] * 2), (4, 4), FRAME)
    assert [(one.index, one.share) for one in found] == [(12, 1.0)]
    assert found[0].roi == FRAME
    assert found[0].centre == pytest.approx(1.0)


def test_depths_have_their_share_and_their_place() -> None:
    row = [4, 4, 4, 20]
    found = find_depths(tiles_at([row, row, row, [4, 4, 12, 12]]), (4, 4), FRAME)
    assert [(one.index, one.share) for one in found] == [(4, 11 / 16), (20, 3 / 16), (12, 2 / 16)]
    assert [one.roi for one in found] == [Roi(0, 0, 96, 96), Roi(96, 0, 32, 96), Roi(64, 96, 64, 32)]
    assert sum(one.centre for one in found) == pytest.approx(1.0)


def test_a_region_has_its_depths_where_it_lies() -> None:
    found = find_depths(tiles_at([[4, 20], [4, 20]]), (2, 2), Roi(100, 50, 64, 32))
    assert {one.roi for one in found} == {Roi(100, 50, 32, 32), Roi(132, 50, 32, 32)}


def test_a_single_tile_of_many_is_no_depth_of_its_own() -> None:
    peaks = [[12] * 4 for _ in range(4)]
    peaks[0][0] = 3
    assert [one.index for one in find_depths(tiles_at(peaks), (4, 4), FRAME)] == [12]


def test_blank_tiles_say_nothing() -> None:
    tiles = tiles_at([[12] * 4] * 4)
    tiles[:8] = 0.002 * np.random.default_rng(1).standard_normal((8, N))
    (found,) = find_depths(tiles, (4, 4), FRAME)
    assert (found.index, found.share) == (12, 0.5)
    tiles[:4], tiles[4:8] = -np.inf, 0.0
    assert [one.share for one in find_depths(tiles, (4, 4), FRAME)] == [0.5]
    assert find_depths(np.zeros((16, N)), (4, 4), FRAME) == ()


def test_light_that_leaks_in_is_no_depth() -> None:
    """Blur from a strong neighbour rises towards an end of the stack, where it is widest."""
    tiles = tiles_at([[12] * 4] * 4)
    tiles[:4] = 0.1 * np.linspace(0, 1, N) ** 2
    assert [one.index for one in find_depths(tiles, (4, 4), FRAME)] == [12]


def test_a_tile_that_shows_two_depths_is_not_part_of_the_region() -> None:
    tiles = tiles_at([[4, 4, 20, 20]] * 4)
    mixed = tiles_at([[4]])[0] + 0.9 * tiles_at([[20]])[0]
    tiles[[1, 5, 9, 13]] = mixed
    far, near = sorted(find_depths(tiles, (4, 4), FRAME), key=lambda one: one.index)
    assert far.roi == Roi(0, 0, 32, 128)
    assert near.roi == Roi(64, 0, 64, 128)


# The subject


def test_the_middle_weighs_most_and_all_weighs_one() -> None:
    shape = (100, 200)
    assert centre_weight(Roi(0, 0, 200, 100), shape) == pytest.approx(1.0)
    middle, corner = Roi(75, 37, 50, 25), Roi(0, 0, 50, 25)
    assert centre_weight(middle, shape) > 0.9 > 100 * centre_weight(corner, shape)
    assert centre_weight(corner, shape) == pytest.approx(centre_weight(Roi(150, 75, 50, 25), shape))


def test_an_unknown_subject_is_refused() -> None:
    with pytest.raises(InputError, match="nearest, farthest, largest, most-confident, not 'left'"):
        to_subject("left")


def test_the_centre_may_be_spelt_as_americans_do() -> None:
    assert to_subject("center") is to_subject("centre") is Subject.CENTRE


@pytest.fixture(scope="module")
def planes() -> dict[int, np.ndarray]:
    camera = replace(CameraModel.pixel3(), grid=GRID)
    found = {}
    for index in (FAR, MIDWAY, NEAR):
        texture = dead_leaves(220, 220, np.random.default_rng(index))
        found[index] = plane_stack(
            camera, float(GRID.dioptres[index]), texture, np.random.default_rng(index), size=SIZE
        )
    return found


@pytest.fixture(scope="module")
def deep(planes: dict[int, np.ndarray]) -> np.ndarray:
    """Far on the left, midway in a broad middle, near on the right."""
    stack = planes[MIDWAY].copy()
    stack[..., :32] = planes[FAR][..., :32]
    stack[..., 96:] = planes[NEAR][..., 96:]
    return stack


@pytest.fixture(scope="module")
def framed(planes: dict[int, np.ndarray]) -> np.ndarray:
    """A near thing in the middle, of a quarter of the picture, before something far."""
    stack = planes[FAR].copy()
    stack[:, :, 32:96, 32:96] = planes[NEAR][:, :, 32:96, 32:96]
    return stack


def test_a_deep_picture_says_which_depths_there_are(deep: np.ndarray) -> None:
    result = focus(deep, grid=GRID)
    assert Reason.SEVERAL_DEPTHS in result.reasons
    assert sorted(one.index for one in result.depths) == pytest.approx([FAR, MIDWAY, NEAR], abs=1)
    assert sum(one.share for one in result.depths) == pytest.approx(1.0)
    for one in result.depths:
        assert one.result is not None
        assert (one.result.index, one.result.roi, one.result.depths) == (one.index, one.roi, ())
    plain = result.to_json()["depths"]
    told = {"index", "share", "roi", "chosen", "position", "state", "confidence", "risk", "reasons"}
    assert [set(one) for one in plain] == [told] * 3


@pytest.mark.parametrize(
    ("subject", "index"),
    [("centre", MIDWAY), ("nearest", NEAR), ("farthest", FAR), ("largest", MIDWAY)],
)
def test_the_subject_decides(deep: np.ndarray, subject: str, index: int) -> None:
    result = focus(deep, grid=GRID, subject=subject)
    assert abs(result.index - index) <= 1
    assert result.state is State.FOCUSED
    assert result.roi is not None


def test_the_surest_depth_decides(deep: np.ndarray) -> None:
    result = focus(deep, grid=GRID, subject=Subject.MOST_CONFIDENT)
    assert result.confidence == max(answers_of(result))


def answers_of(result: FocusResult) -> list[float]:
    """Returns how sure the answer of each depth is."""
    return [one.result.confidence for one in result.depths if one.result is not None]


@pytest.mark.parametrize(("subject", "index"), [("centre", NEAR), ("nearest", NEAR), ("largest", FAR)])
def test_the_centre_is_not_the_largest(framed: np.ndarray, subject: str, index: int) -> None:
    assert abs(focus(framed, grid=GRID, subject=subject).index - index) <= 1


@pytest.fixture(scope="module")
def buttons(planes: dict[int, np.ndarray]) -> np.ndarray:
    """Something far of 512 x 512 pixels, with a near button in the middle and one midway in a corner."""
    stack = np.tile(planes[FAR], (1, 1, 4, 4))
    stack[:, :, 216:296, 216:296] = planes[NEAR][:, :, :80, :80]
    stack[:, :, 30:110, 390:470] = planes[MIDWAY][:, :, :80, :80]
    return stack


def test_small_things_are_depths_and_the_one_in_the_middle_decides(buttons: np.ndarray) -> None:
    result = focus(buttons, grid=GRID)
    assert sorted(one.index for one in result.depths) == pytest.approx([FAR, MIDWAY, NEAR], abs=1)
    assert (result.state, result.index) == (State.FOCUSED, pytest.approx(NEAR, abs=1))
    assert result.roi is not None
    assert abs(result.roi.x + result.roi.w / 2 - 256) < 32
    assert abs(result.roi.y + result.roi.h / 2 - 256) < 32
    assert focus(buttons, grid=GRID, subject="largest").index == pytest.approx(FAR, abs=1)


def test_focus_finds_the_depths_that_a_map_finds(buttons: np.ndarray) -> None:
    mapped, found = focus_map(buttons, grid=GRID, size=64, stride=32).depths, focus(buttons, grid=GRID).depths
    assert sorted(one.index for one in mapped) == pytest.approx(sorted(one.index for one in found), abs=1)
    assert mapped[0].share > 0.8
    (near,) = (one for one in mapped if one.index > MIDWAY + 4)
    assert near.centre == max(one.centre for one in mapped) > 0.5
    assert abs(near.roi.x + near.roi.w / 2 - 256) < 32


def test_a_depth_that_covers_the_middle_is_judged_there() -> None:
    """And not aside, where it has its largest rectangle."""
    tiles = tiles_at([[4] * 8] * 4 + [[20, 20, 20, 4, 4, 20, 20, 20]] * 4)
    far, near = sorted(find_depths(tiles, (8, 8), FRAME), key=lambda one: one.index)
    assert far.roi == Roi(48, 0, 32, 128)
    assert near.roi in (Roi(0, 64, 48, 64), Roi(80, 64, 48, 64))
    cross = np.full((8, 8), 20)
    cross[3:5], cross[:, 3:5] = 4, 4
    far, near = sorted(find_depths(tiles_at(cross.tolist()), (8, 8), FRAME), key=lambda one: one.index)
    assert far.centre > 0.95
    assert far.roi in (Roi(0, 48, 128, 32), Roi(48, 0, 32, 128))


def test_what_is_answered_alike_is_one_depth(deep: np.ndarray) -> None:
    answers = {one: one.result for one in focus(deep, grid=GRID).depths if one.result is not None}
    (first, told), *others = answers.items()
    twins = {first: told, replace(first, roi=FRAME, share=first.share / 2): told, **dict(others)}
    joined = without_twins(twins)
    assert sorted(one.index for one in joined) == sorted(one.index for one in answers)
    assert max(one.share for one in joined) == pytest.approx(max(1.5 * first.share, 0.5))


def test_the_centre_is_the_default(framed: np.ndarray) -> None:
    assert focus(framed, grid=GRID).index == focus(framed, grid=GRID, subject="centre").index


def test_the_nearest_of_a_stack_from_near_to_far_comes_first(deep: np.ndarray) -> None:
    result = focus(deep[::-1], grid=GRID.dioptres[::-1], subject="nearest")
    assert abs(result.index - (N - 1 - NEAR)) <= 1
    assert result.dioptres == pytest.approx(float(GRID.dioptres[NEAR]), abs=0.4)
    assert sorted(one.index for one in result.depths) == pytest.approx(
        [N - 1 - NEAR, N - 1 - MIDWAY, N - 1 - FAR], abs=1
    )
    for one in result.depths:
        assert one.result is not None
        assert (one.result.index, one.result.unit) == (one.index, "dioptres")
    rising = focus(deep, grid=GRID.dioptres, subject="nearest")
    assert [one.index for one in result.depths] == [N - 1 - one.index for one in rising.depths]
    assert result.confidence == rising.confidence


def test_which_thing_is_meant_is_no_doubt_about_the_answer(planes: dict[int, np.ndarray]) -> None:
    """What is said of the chosen depth is what is said of the answer, whoever chose it."""
    half = np.concatenate([planes[FAR][..., :64], planes[NEAR][..., 64:]], axis=3)
    for subject in Subject:
        assert to_subject(subject.value) is subject
        result = focus(half, grid=GRID, subject=subject)
        (chosen,) = (one.result for one in result.depths if one.chosen)
        assert chosen is not None
        assert (result.state, result.index, result.roi) == (State.FOCUSED, chosen.index, chosen.roi)
        assert (result.confidence, result.risk) == (chosen.confidence, chosen.risk)
        assert result.confidence > 0.9


def test_who_asks_for_the_nearest_says_which_way_the_slices_run(deep: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"which thing is the nearest cannot be told: .*near-first"):
        focus(deep, subject="nearest")
    with pytest.raises(InputError, match="which thing is the farthest"):
        focus(deep, grid="0:0.5um", subject="farthest")
    assert abs(focus(deep, order="far-first", subject="nearest").index - NEAR) <= 1
    assert abs(focus(deep, order="far-first", subject="farthest").index - FAR) <= 1
    turned = focus(deep[::-1], grid="0:0.5um", order="near-first", subject="nearest")
    assert abs(turned.index - (N - 1 - NEAR)) <= 1
    assert (turned.grid.nearer, turned.unit) == (False, "um")
    assert focus(deep, order="far-first").index == focus(deep).index


def test_an_order_that_positions_contradict_is_refused(deep: np.ndarray) -> None:
    with pytest.raises(InputError, match="said to run near-first, but their positions go from far to near"):
        focus(deep, grid=GRID, order="near-first")
    with pytest.raises(InputError, match="far-first or near-first, not 'reversed'"):
        focus(deep, order="reversed")
    assert focus(deep, grid=GRID, order="far-first").grid.nearer is True


def test_one_depth_is_not_several(planes: dict[int, np.ndarray]) -> None:
    result = focus(planes[MIDWAY], grid=GRID)
    assert (result.index, result.reasons, result.depths) == (MIDWAY, (), ())
    assert result.roi is None


def test_regions_that_are_given_are_not_divided(deep: np.ndarray) -> None:
    results = focus(deep, grid=GRID, roi=[(0, 0, 128, 64), (0, 0, 32, 128)], subject="largest")
    assert [one.depths for one in results] == [(), ()]
    assert len(focus(deep, grid=GRID, roi=(0, 0, 128, 64)).depths) > 1


# Two peaks


def test_two_peaks_of_a_stack_are_named(planes: dict[int, np.ndarray]) -> None:
    """Both depths behind each other, in a region too small for tiles."""
    both = ((planes[FAR] + planes[NEAR]) / 2)[..., 20:48, 20:48]
    result = focus(both, DEFAULT_MEASURE, grid=GRID, risk=0.5)
    assert Reason.SEVERAL_DEPTHS in result.reasons
    other = NEAR if abs(result.index - FAR) <= 2 else FAR
    rivals = result.verdict.rivals
    assert rivals == pytest.approx((other,), abs=2)
    falling = focus(both[::-1], DEFAULT_MEASURE, grid=GRID.dioptres[::-1], risk=0.5)
    assert falling.verdict.rivals == tuple(N - 1 - one for one in rivals)
    assert result.to_json()["rivals"] == list(rivals)


def test_a_result_of_one_peak_has_no_rivals(planes: dict[int, np.ndarray]) -> None:
    result: FocusResult = focus(planes[FAR])
    assert result.verdict.rivals == ()


def test_a_network_answers_for_each_depth_of_a_large_picture() -> None:
    camera, rng = CameraModel.pixel3(), np.random.default_rng(0)
    far, near = (
        plane_stack(camera, float(camera.grid.dioptres[at]), dead_leaves(250, 250, rng), rng).mean(axis=1)
        for at in (12, 36)
    )
    deep = np.concatenate([np.tile(far, (1, 2, 1)), np.tile(near, (1, 2, 1))], axis=2)
    result = focus(deep, "l2a-stack-green", grid=camera.grid)
    assert Reason.SEVERAL_DEPTHS in result.reasons
    assert [one.result and one.result.method for one in result.depths] == ["l2a-stack-green"] * 2
    assert [abs(depth.index - at) <= 4 for depth, at in zip(result.depths, (12, 36), strict=True)] == [
        True
    ] * 2
    assert focus(far, "l2a-stack-green", grid=camera.grid).depths == ()  # a patch as it was trained on


def test_a_plateau_is_one_depth_though_its_tiles_peak_anywhere_on_it() -> None:
    rng = np.random.default_rng(0)
    base = ndimage.gaussian_filter(rng.random((160, 200)), 0.7)
    slices = [ndimage.gaussian_filter(base, 0.3 + 0.3 * max(0, 16 - at)) for at in range(25)]
    stack = np.stack(slices) + rng.normal(0, 0.002, (25, 160, 200))
    for one, positions in ((stack, None), (stack[::-1], np.linspace(3, 1, 25))):
        result = focus(one.astype(np.float32), grid=positions)
        assert result.verdict.plateau is not None
        assert result.depths == ()
        assert Reason.PLATEAU in result.reasons
        assert Reason.SEVERAL_DEPTHS not in result.reasons


def test_what_lies_off_a_plateau_is_another_depth() -> None:
    depths = [Depth(at, 0.3, 0.3, Roi(at, 0, 16, 16)) for at in (3, 18, 22)]
    joined = joined_on_plateau(depths, (16, 24))
    assert [one.index for one in joined] == [3, 18]
    assert joined[1].share == pytest.approx(0.6)
    assert joined_on_plateau(depths, None) == tuple(depths)
