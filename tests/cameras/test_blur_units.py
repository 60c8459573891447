"""Steps: what makes a lens position of any camera one that a network knows."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.cameras.blur_units import SHARP_PX, WINDOW, BlurSteps, StepWindow
from dioptre.cameras.camera_files import CameraOptics, describe
from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.optics import STEP_PX, CameraModel, blur_in_focus, depth_to_blur
from dioptre.posterior import DepthPrior, Posterior
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread


def steps_through(camera: object) -> BlurSteps:
    """Returns the steps along a camera's own way."""
    return BlurSteps(describe(camera).grid())


PHONE = steps_through("pixel3")
STAGE = CameraOptics(growth_px=-0.25, unit="counts", travel=(4000.0, 1000.0))  # larger is farther
COUNTS = steps_through(STAGE)
NEAR_FIRST = BlurSteps(FocusGrid(range(1000, 4001), "counts", camera=STAGE))
UNEVEN = BlurSteps(FocusGrid([0.0, 1.0, 5.0, 6.0], "um", nearer=False, blur_per_unit_px=[3.0, 1.0, 2.0, 2.0]))
EVERY = [*(steps_through(name) for name in MAKES), COUNTS, NEAR_FIRST, UNEVEN]
makes = pytest.mark.parametrize("camera", [make() for make in MAKES.values()], ids=list(MAKES))
steps_of = pytest.mark.parametrize(
    "steps", EVERY, ids=[*MAKES, "stage", "stage, near first", "uneven, near first"]
)


def test_a_step_is_the_mean_step_of_the_phone_s_ladder() -> None:
    assert pytest.approx(0.589, abs=5e-4) == STEP_PX
    far, near = PHONE.ends
    assert near - far == pytest.approx(WINDOW - 1, abs=0.05)
    indices = np.asarray(PHONE.position_to_step(CameraModel.pixel3().grid.dioptres)) - far
    np.testing.assert_allclose(indices, np.arange(WINDOW), atol=0.4)  # its driver has whole codes
    assert PHONE.scale == 1.0


@makes
def test_blur_grows_by_the_same_pixels_for_a_step_of_any_make(camera: CameraModel) -> None:
    """Half a step either side of anywhere on the travel, in pixels of the pictures that a network sees."""
    steps = steps_through(camera)
    places = np.linspace(*steps.ends, 9)[1:-1]
    nearer, farther = (np.asarray(steps.step_to_position(places + half)) for half in (0.5, -0.5))
    blur = steps.scale * np.asarray(depth_to_blur(camera, nearer, farther))
    np.testing.assert_allclose(blur, STEP_PX, rtol=1e-3)


@makes
@pytest.mark.parametrize("move", [-20, -3, 8, 20])
def test_something_so_many_steps_away_is_as_blurred_on_any_make(camera: CameraModel, move: int) -> None:
    steps = steps_through(camera)
    middle = sum(steps.ends) / 2
    focus, depth = (float(steps.step_to_position(middle + by)) for by in (move, 0))
    blur = steps.scale * float(depth_to_blur(camera, focus, depth))
    assert blur == pytest.approx(move * STEP_PX, rel=0.02)  # near focus magnifies: 1 % over 20 steps
    kernels = PointSpread(camera, PhoneOptics(), (0.0, 0.0)).kernels(blur / steps.scale)[:2]
    phone = PointSpread(CameraModel.pixel3(), PhoneOptics(), (0.0, 0.0)).kernels(move * STEP_PX)
    assert _width(kernels) * steps.scale == pytest.approx(_width(phone), rel=0.05)


def _width(kernels: np.ndarray) -> float:
    """Returns the deviation along the rows of what both views see of a point."""
    light = kernels.sum(axis=(0, 2))
    place = np.arange(len(light)) - len(light) // 2
    return math.sqrt(float((light * place**2).sum() / light.sum()))


@makes
def test_the_blur_in_focus_is_as_wide_as_on_the_phone_when_shrunk(camera: CameraModel) -> None:
    steps = steps_through(camera)
    lens = math.sqrt(blur_in_focus(camera) ** 2 - 1 / 12) * steps.scale
    known = math.sqrt(SHARP_PX**2 - 1 / 12)
    assert lens <= 1.25 * known
    assert steps.scale == 1.0 or lens == pytest.approx(known)


def test_only_a_soft_camera_s_pictures_are_shrunk() -> None:
    scales = {name: steps_through(make()).scale for name, make in MAKES.items()}
    assert {name for name, scale in scales.items() if scale < 1} == {"microscope-4x"}
    assert scales["microscope-4x"] == pytest.approx(0.51, abs=0.01)


@steps_of
@given(along=st.floats(0.0, 1.0))
@settings(deadline=None)
def test_positions_come_back_from_steps(steps: BlurSteps, along: float) -> None:
    first, last = steps.grid.positions[[0, -1]].tolist()
    position = first + along * (last - first)
    assert steps.step_to_position(steps.position_to_step(position)) == pytest.approx(position, abs=1e-9)


@steps_of
def test_steps_rise_towards_near(steps: BlurSteps) -> None:
    far, near = steps.ends
    assert near > far
    grid = steps.grid
    at_far, at_near = grid.positions[[0, -1] if grid.far_to_near else [-1, 0]].tolist()
    assert (steps.step_to_position(far), steps.step_to_position(near)) == pytest.approx((at_far, at_near))
    moved = float(steps.step_to_position(far + 0.01)) - at_far
    assert abs(moved) / 0.01 == pytest.approx(steps.units_per_step(at_far), rel=1e-2)
    assert moved * (at_near - at_far) > 0


def test_steps_go_on_beyond_the_grid_as_at_its_ends() -> None:
    for steps in (UNEVEN, COUNTS):
        for end in (0, -1):
            position = float(steps.grid.positions[end])
            inwards = float(steps.grid.positions[1] - steps.grid.positions[0]) * (1 if end == 0 else -1)
            outside = position - inwards
            step = float(steps.position_to_step(outside))
            assert not steps.ends[0] <= step <= steps.ends[1]
            assert steps.step_to_position(step) == pytest.approx(outside)
            away = abs(step - float(steps.position_to_step(position)))
            assert away == pytest.approx(abs(inwards) / steps.units_per_step(position))


def test_the_order_of_a_grid_does_not_change_where_a_window_lies() -> None:
    turned = BlurSteps(NEAR_FIRST.grid.turned())
    for position in (1000.0, 2345.0, 4000.0):
        assert turned.position_to_step(position) == pytest.approx(NEAR_FIRST.position_to_step(position))
    one, other = (StepWindow.around(each, np.array([2000.0])) for each in (turned, NEAR_FIRST))
    assert one.origin == pytest.approx(other.origin)


def test_what_blur_adds_up_to_is_what_the_growth_says() -> None:
    between = np.abs(np.diff(np.asarray(UNEVEN.position_to_step(UNEVEN.grid.positions)))) * STEP_PX
    np.testing.assert_allclose(between, UNEVEN.scale * np.array([2.0, 6.0, 2.0]))  # um times px per um


# Pictures


def test_shrinking_keeps_means_and_halves_exactly() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.random((2, 1, 40, 60)).astype(np.float32)
    half = replace(COUNTS, coarser=2.0).shrink(pictures)
    np.testing.assert_allclose(half, pictures.reshape(2, 1, 20, 2, 30, 2).mean(axis=(3, 5)), rtol=1e-5)
    third = replace(COUNTS, coarser=3.1).shrink(pictures)
    assert third.shape[2:] == replace(COUNTS, coarser=3.1).shrunk((40, 60)) == (12, 19)
    np.testing.assert_allclose(replace(COUNTS, coarser=3.1).shrink(np.ones_like(pictures)), 1.0, rtol=1e-5)
    assert COUNTS.shrink(pictures) is pictures


def test_a_hole_in_a_picture_stays_where_it_is() -> None:
    pictures = np.ones((1, 1, 8, 8), np.float32)
    pictures[0, 0, 0, 0] = np.nan
    shrunk = replace(COUNTS, coarser=2.0).shrink(pictures)
    assert shrunk[0, 0, 0, 0] == pytest.approx(0.75)
    np.testing.assert_allclose(shrunk[0, 0, 1:], 1.0)


# Windows


def test_one_look_is_in_the_middle_of_its_window_and_on_a_whole_index() -> None:
    endless = BlurSteps(replace(STAGE, travel=None).grid(around=[123.4]))
    window = StepWindow.around(endless, np.array([123.4]))
    assert window.position_to_index(123.4) == pytest.approx(24, abs=1e-9)
    assert window.reach == slice(0, WINDOW)
    step = abs(STEP_PX / 0.25)
    assert window.index_to_position(25) == pytest.approx(123.4 - step)  # nearer: fewer counts


def test_a_window_does_not_leave_the_travel_if_that_is_long_enough() -> None:
    for position, index in ((4000.0, 0), (1000.0, WINDOW - 1)):
        window = StepWindow.around(COUNTS, np.array([position]))
        assert window.position_to_index(position) == pytest.approx(index, abs=1e-9)
    phone = StepWindow.around(PHONE, np.array([0.3]))
    assert phone.reach == slice(0, WINDOW)


def test_looks_lie_as_close_to_whole_indices_as_they_can() -> None:
    places = np.array([3.1, 7.1, 12.1])
    positions = np.asarray(COUNTS.step_to_position(COUNTS.ends[0] + 100 + places))
    off = StepWindow.around(COUNTS, positions).position_to_index(positions)
    np.testing.assert_allclose(off, np.rint(off), atol=1e-6)
    assert StepWindow.around(COUNTS, positions).covers(positions)
    apart = np.asarray(COUNTS.step_to_position(COUNTS.ends[0] + np.array([100.0, 160.0])))
    assert not StepWindow.around(COUNTS, apart).covers(apart)


def test_what_a_lens_cannot_reach_lies_beyond() -> None:
    short = steps_through(replace(STAGE, travel=(4000.0, 4000.0 - 10 * STEP_PX / 0.25)))
    window = StepWindow.around(short, np.array([4000.0]))
    assert window.reach == slice(24, 35)
    even = Posterior.of_logits(np.zeros((1, WINDOW + 2)), WINDOW)
    held = window.held(even)
    assert held.positions == 11
    assert held.beyond_far[0] == pytest.approx(25 / 51)
    assert held.beyond_near[0] == pytest.approx(15 / 51)


def test_a_prior_is_about_the_travel() -> None:
    window = StepWindow.around(PHONE, np.array([5.0]))
    weights = np.array(window.prior(DepthPrior.far()).table)
    np.testing.assert_allclose(weights / weights.sum(), DepthPrior.far().weights(WINDOW), atol=2e-3)
    assert window.prior(DepthPrior.even()).is_even


def test_a_window_tells_the_positions_that_the_lens_can_reach_in_its_unit() -> None:
    window = StepWindow.around(NEAR_FIRST, np.array([4000.0]))
    assert (window.grid.unit, window.grid.nearer, window.grid.known) == ("counts", True, False)
    assert len(window.grid) == window.reach.stop - window.reach.start
    np.testing.assert_allclose(window.grid.positions, 4000 - STEP_PX / 0.25 * np.arange(WINDOW), atol=1e-6)
    assert window.every_step() == FocusGrid(range(WINDOW))


# What people hand over


def test_a_camera_is_a_model_its_name_or_its_file(tmp_path: Path) -> None:
    model = CameraModel.pixel3()
    model.to_toml(tmp_path / "phone.toml")
    grids = [describe(one).grid() for one in (model, "pixel3", tmp_path / "phone.toml")]
    assert grids[0] == grids[1] == grids[2] == PHONE.grid
    assert describe(STAGE) is STAGE
    lens = (tmp_path / "phone.toml").read_text()
    (tmp_path / "soft.toml").write_text(f"sharp_px = 1.3\n{lens}")
    assert describe(tmp_path / "soft.toml").grid().sharp_px == 1.3
    assert CameraModel.from_toml(tmp_path / "soft.toml") == model
    (tmp_path / "stage.toml").write_text(
        'name = "stage"\nunit = "counts"\ngrowth_px = -0.25\nfar = 4000\nnear = 1000\n'
    )
    told = describe(tmp_path / "stage.toml")
    assert (told.name, told.unit, told.growth_px, told.travel) == ("stage", "counts", -0.25, (4000.0, 1000.0))
    assert told.grid() == COUNTS.grid


def test_a_camera_file_of_the_first_release_that_counts_positions_counts_slices(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text('unit = "positions"\ngrowth_px = 0.4\nfar = 0\nnear = 48\n')
    told = describe(tmp_path / "old.toml")
    assert told.unit == "slice"
    grid = FocusGrid(range(20), camera=tmp_path / "old.toml")
    assert (grid.unit, grid.nearer) == ("slice", True)
    assert grid.blur_per_unit_px is not None
    assert set(grid.blur_per_unit_px) == {0.4}


@pytest.mark.parametrize("nearer", [True, False])
def test_what_a_camera_s_file_knows_is_filled_into_a_grid(nearer: bool) -> None:
    positions = np.arange(4000.0, 1000.0, -250.0)[:: 1 if nearer else -1]
    grid = FocusGrid(positions, "counts", camera=STAGE)
    assert grid.nearer is nearer
    assert not grid.known
    assert (grid.blur_per_unit_px == 0.25).all()
    assert grid.sharp_px == SHARP_PX
    with pytest.raises(InputError, match="camera counts in counts: positions in um say nothing of it"):
        FocusGrid(positions, "um", camera=STAGE)
    own = FocusGrid(positions, "counts", camera=STAGE, sharp_px=2.0, blur_per_unit_px=1.0)
    assert own.sharp_px == 2.0
    assert (own.blur_per_unit_px == 1.0).all()


def test_slices_whose_dioptres_are_told_blur_as_a_thin_lens_does() -> None:
    own = FocusGrid(range(5), dioptres=[1.0, 1.5, 2.0, 2.5, 3.0], camera="pixel3")
    assert own.unit == "slice"
    per_dioptre = describe("pixel3").growth_at(own.dioptres)
    np.testing.assert_allclose(own.blur_per_unit_px, 0.5 * per_dioptre)


def test_a_lens_whose_ends_nobody_has_told_has_no_way_of_its_own() -> None:
    with pytest.raises(
        InputError, match="nobody has told where the lens of camera can go: write far and near"
    ):
        replace(STAGE, travel=None).grid()
    around = replace(STAGE, travel=None).grid(around=[-10.0, 30.0])
    assert around.positions[0] > 30  # larger is farther
    assert around.positions[-1] < -10
    assert around.index_to_position((len(around) - 1) / 2) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("growth_px = 1", 'say what its positions are counted in: unit = "um"'),
        ('unit = "um"\ngrowth_px = 0', "number of pixels other than 0"),
        ('unit = "um"\ngrowth_px = "much"', "growth_px is a number, not 'much'"),
        ('unit = "um"\ngrowth_px = 1\nfar = 0', "both given, far and near, or neither"),
        (
            'unit = "um"\ngrowth_px = 1\nfar = 9\nnear = 0',
            "far end, 9, to its near end, 0: growth_px is positive",
        ),
        ('unit = "um"\ngrowth_px = 1\nsharp_px = 0.1', "a pixel's own width, 0.29, not 0.1"),
        ('unit = "um"\ngrowth_px = 1\nf_number = 2', "not 'f_number'"),
        ('unit = "um"', r"neither a thin lens \(focal_length_mm, .* nor growth_px"),
        ("focal_length_mm = 50", "it lacks 'frame'"),
        ("focal_length_mm = 50\nsharp_px = true", "sharp_px is a number, not True"),
        ("growth_px = ", "is not a TOML file"),
    ],
)
def test_a_file_that_describes_no_camera_is_refused_in_one_sentence(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(FileError, match=sentence) as caught:
        describe(tmp_path / "my.toml")
    assert "my.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_camera_is_refused() -> None:
    with pytest.raises(FileError, match="there is no camera 'pixel9': one of pixel3, dslr-50mm"):
        describe("pixel9")
    with pytest.raises(InputError, match=r"a camera is a CameraModel, its name or its file, not 0\.5"):
        describe(0.5)


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        (5000, r"positions go from 4000 to 1000 \(counts\), not to 5000"),
        (math.nan, r"a position is a number \(counts\), not nan"),
        ("3", r"a position is a number \(counts\), not '3'"),
        (True, r"a position is a number \(counts\), not True"),
    ],
)
def test_a_position_that_the_lens_does_not_have_is_refused(at: object, sentence: str) -> None:
    assert COUNTS.grid.check(4000) == 4000.0
    with pytest.raises(InputError, match=sentence):
        COUNTS.grid.check(at)


def test_positions_beyond_a_lens_s_ends_are_refused() -> None:
    with pytest.raises(InputError, match=r"goes from 4000 \(far\) to 1000 \(near\) counts, not to 5000"):
        FocusGrid([5000, 4000, 3000], "counts", camera=STAGE)


def test_a_focus_within_the_focal_length_is_refused() -> None:
    unknown = replace(CameraModel.pixel3(), grid=FocusGrid(range(9)))
    with pytest.raises(InputError, match=r"not beyond the focal length of pixel3, 4\.44 mm"):
        FocusGrid([100.0, 300.0], "dioptres", camera=unknown)


def test_a_number_of_hundreds_of_digits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "camera.toml"
    file.write_text(f'growth_px = {"9" * 400}\nunit = "um"\n')
    with pytest.raises(FileError, match="growth_px is a finite number, not one of 400 digits"):
        CameraOptics.from_toml(file)
