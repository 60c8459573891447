"""Steps: what makes a lens position of any camera one that a network knows."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.cameras.blur_units import SHARP_PX, STEP_PX, WINDOW, FocusSteps, StepWindow, to_steps
from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel, blur_in_focus, depth_to_blur
from dioptre.posterior import DepthPrior, Posterior
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread

PHONE = FocusSteps.of_camera(CameraModel.pixel3())
STAGE = FocusSteps(growth_px=-0.25, unit="counts", travel=(4000.0, 1000.0))  # larger is farther
EVERY = [*(FocusSteps.of_camera(make()) for make in MAKES.values()), STAGE]
makes = pytest.mark.parametrize("camera", [make() for make in MAKES.values()], ids=list(MAKES))
steps_of = pytest.mark.parametrize("steps", EVERY, ids=[*MAKES, "stage"])


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
    steps = FocusSteps.of_camera(camera)
    places = np.linspace(*steps.ends, 9)[1:-1]
    nearer, farther = (np.asarray(steps.step_to_position(places + half)) for half in (0.5, -0.5))
    blur = steps.scale * np.asarray(depth_to_blur(camera, nearer, farther))
    np.testing.assert_allclose(blur, STEP_PX, rtol=1e-3)


@makes
@pytest.mark.parametrize("move", [-20, -3, 8, 20])
def test_something_so_many_steps_away_is_as_blurred_on_any_make(camera: CameraModel, move: int) -> None:
    steps = FocusSteps.of_camera(camera)
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
    steps = FocusSteps.of_camera(camera)
    lens = math.sqrt(blur_in_focus(camera) ** 2 - 1 / 12) * steps.scale
    known = math.sqrt(SHARP_PX**2 - 1 / 12)
    assert lens <= 1.25 * known
    assert steps.scale == 1.0 or lens == pytest.approx(known)


def test_only_a_soft_camera_s_pictures_are_shrunk() -> None:
    scales = {name: FocusSteps.of_camera(make()).scale for name, make in MAKES.items()}
    assert {name for name, scale in scales.items() if scale < 1} == {"microscope-4x"}
    assert scales["microscope-4x"] == pytest.approx(0.51, abs=0.01)


@steps_of
@given(along=st.floats(0.0, 1.0))
@settings(deadline=None)
def test_positions_come_back_from_steps(steps: FocusSteps, along: float) -> None:
    assert steps.travel is not None
    position = steps.travel[0] + along * (steps.travel[1] - steps.travel[0])
    assert steps.step_to_position(steps.position_to_step(position)) == pytest.approx(position, abs=1e-9)


@steps_of
def test_steps_rise_towards_near(steps: FocusSteps) -> None:
    far, near = steps.ends
    assert near > far
    assert steps.travel is not None
    length = steps.units_per_step(steps.travel[0])
    moved = float(steps.step_to_position(far + 0.01)) - steps.travel[0]
    assert abs(moved) / 0.01 == pytest.approx(length, rel=1e-3)
    assert moved * (steps.travel[1] - steps.travel[0]) > 0


# Pictures


def test_shrinking_keeps_means_and_halves_exactly() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.random((2, 1, 40, 60)).astype(np.float32)
    half = replace(STAGE, coarser=2.0).shrink(pictures)
    np.testing.assert_allclose(half, pictures.reshape(2, 1, 20, 2, 30, 2).mean(axis=(3, 5)), rtol=1e-5)
    third = replace(STAGE, coarser=3.1).shrink(pictures)
    assert third.shape[2:] == replace(STAGE, coarser=3.1).shrunk((40, 60)) == (12, 19)
    np.testing.assert_allclose(replace(STAGE, coarser=3.1).shrink(np.ones_like(pictures)), 1.0, rtol=1e-5)
    assert STAGE.shrink(pictures) is pictures


def test_a_hole_in_a_picture_stays_where_it_is() -> None:
    pictures = np.ones((1, 1, 8, 8), np.float32)
    pictures[0, 0, 0, 0] = np.nan
    shrunk = replace(STAGE, coarser=2.0).shrink(pictures)
    assert shrunk[0, 0, 0, 0] == pytest.approx(0.75)
    np.testing.assert_allclose(shrunk[0, 0, 1:], 1.0)


# Windows


def test_one_look_is_in_the_middle_of_its_window_and_on_a_whole_index() -> None:
    endless = replace(STAGE, travel=None)
    window = StepWindow.around(endless, np.array([123.4]))
    assert window.position_to_index(123.4) == pytest.approx(24, abs=1e-9)
    assert window.reach == slice(0, WINDOW)
    step = abs(STEP_PX / 0.25)
    assert window.index_to_position(25) == pytest.approx(123.4 - step)  # nearer: fewer counts


def test_a_window_does_not_leave_the_travel_if_that_is_long_enough() -> None:
    for position, index in ((4000.0, 0), (1000.0, WINDOW - 1)):
        window = StepWindow.around(STAGE, np.array([position]))
        assert window.position_to_index(position) == pytest.approx(index, abs=1e-9)
    phone = StepWindow.around(PHONE, np.array([0.3]))
    assert phone.reach == slice(0, WINDOW)


def test_looks_lie_as_close_to_whole_indices_as_they_can() -> None:
    places = np.array([3.1, 7.1, 12.1])
    positions = np.asarray(STAGE.step_to_position(STAGE.ends[0] + 100 + places))
    off = StepWindow.around(STAGE, positions).position_to_index(positions)
    np.testing.assert_allclose(off, np.rint(off), atol=1e-6)
    assert StepWindow.around(STAGE, positions).covers(positions)
    apart = np.asarray(STAGE.step_to_position(STAGE.ends[0] + np.array([100.0, 160.0])))
    assert not StepWindow.around(STAGE, apart).covers(apart)


def test_what_a_lens_cannot_reach_lies_beyond() -> None:
    short = replace(STAGE, travel=(4000.0, 4000.0 - 10 * STEP_PX / 0.25))
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
    with pytest.raises(InputError, match="whole travel, whose ends camera does not tell"):
        StepWindow.around(replace(STAGE, travel=None), np.array([0.0])).prior(DepthPrior.far())


# What people hand over


def test_a_camera_is_a_model_a_make_steps_or_a_file(tmp_path: Path) -> None:
    model = CameraModel.pixel3()
    model.to_toml(tmp_path / "phone.toml")
    assert to_steps(model) == to_steps("pixel3") == to_steps(tmp_path / "phone.toml") == PHONE
    assert to_steps(STAGE) is STAGE
    lens = (tmp_path / "phone.toml").read_text()
    (tmp_path / "soft.toml").write_text(f"sharp_px = 1.3\n{lens}")
    assert to_steps(tmp_path / "soft.toml").sharp_px == 1.3
    assert CameraModel.from_toml(tmp_path / "soft.toml") == model
    (tmp_path / "stage.toml").write_text(
        'name = "stage"\nunit = "counts"\ngrowth_px = -0.25\nfar = 4000\nnear = 1000\n'
    )
    assert to_steps(tmp_path / "stage.toml") == replace(STAGE, name="stage")


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
        to_steps(tmp_path / "my.toml")
    assert "my.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_camera_is_refused() -> None:
    with pytest.raises(FileError, match="there is no camera 'pixel9': one of pixel3, dslr-50mm"):
        to_steps("pixel9")
    with pytest.raises(InputError, match=r"its FocusSteps or its file, not 0\.5"):
        to_steps(0.5)


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        (5000, r"goes from 4000 \(far\) to 1000 \(near\) counts, not to 5000"),
        (math.nan, "is a number of counts, not nan"),
        ("3", "is a number of counts, not '3'"),
        (True, "is a number of counts, not True"),
    ],
)
def test_a_position_that_the_lens_does_not_have_is_refused(at: object, sentence: str) -> None:
    assert STAGE.check(4000) == 4000.0
    with pytest.raises(InputError, match=sentence):
        STAGE.check(at)


def test_a_focus_within_the_focal_length_is_refused() -> None:
    unknown = replace(CameraModel.pixel3(), grid=FocusGrid.unknown(9))
    with pytest.raises(InputError, match=r"not beyond the focal length of pixel3, 4\.44 mm"):
        FocusSteps.of_camera(unknown).check(300.0)


def test_a_number_of_hundreds_of_digits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "camera.toml"
    file.write_text(f'growth_px = {"9" * 400}\nunit = "um"\n')
    with pytest.raises(FileError, match="growth_px is a finite number, not one of 400 digits"):
        FocusSteps.from_toml(file)
