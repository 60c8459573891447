"""The physics of optics.py: the numbers of the published data set's phone, laws, signs and inverses.

A number with its decimals stands as it is known, and the code must round to it. Where nothing else is
said the aperture is the nominal one: a thin lens of 4.44 mm at f/1.8, seen in pixels of 2.8 micrometres.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.optics import (
    STEP_PX,
    CameraModel,
    blur_to_depth,
    breathing,
    depth_to_blur,
    depth_to_disparity,
    disparity_to_depth,
    extension_to_focus_um,
    focus_to_extension_um,
    focus_to_magnification,
    magnification_to_focus,
    steps_per_index,
)

LEARNAF = FocusGrid.learnaf()
FOCI = LEARNAF.dioptres
PHONE = CameraModel.pixel3()
NOMINAL = replace(PHONE, aperture_factor=1.0)
EVERY_EIGHTH = np.arange(0, 49, 8)

CODE_UM = 0.8954  # what the published phone's lens moves for one code of its driver

foci = st.floats(0.0, 20.0)
index_floats = st.floats(0.0, 48.0)


def rounds_to(value: object, printed: str) -> bool:
    """Returns True if the value is the printed number to its last decimal."""
    decimals = len(printed.partition(".")[2])
    return abs(float(np.asarray(value)) - float(printed)) <= 0.5 * 10.0**-decimals + 1e-9


def blur_growth(camera: CameraModel) -> np.ndarray:
    """Returns for each step of the grid the blur at one end of an object in focus at the other."""
    focus = camera.grid.dioptres
    return np.asarray(depth_to_blur(camera, focus[1:], focus[:-1]))


# The grid of the published data set.


def test_learnaf_has_49_positions_from_far_to_near() -> None:
    assert len(LEARNAF) == 49
    assert rounds_to(FOCI[0], "0.2557")
    assert rounds_to(FOCI[48], "9.8030")
    assert rounds_to(1000 * LEARNAF.index_to_metres(0), "3910.92")
    assert rounds_to(1000 * LEARNAF.index_to_metres(24), "198.18")
    assert rounds_to(1000 * LEARNAF.index_to_metres(48), "102.01")


def test_learnaf_steps() -> None:
    steps = np.diff(FOCI)
    assert rounds_to(steps.mean(), "0.1989")
    assert rounds_to(steps.min(), "0.167")
    assert rounds_to(steps.max(), "0.226")


def test_learnaf_is_nearly_uniform_in_dioptres() -> None:
    departure = np.abs(FOCI - np.linspace(FOCI[0], FOCI[-1], 49)).max()
    assert rounds_to(departure, "0.022")
    assert rounds_to(departure / np.diff(FOCI).mean(), "0.11")


def test_lens_travel() -> None:
    extension_um = np.asarray(focus_to_extension_um(PHONE, FOCI))
    assert rounds_to(extension_um[0], "5.05")
    assert rounds_to(extension_um[48], "202.05")
    assert rounds_to(extension_um[48] - extension_um[0], "197")
    assert rounds_to((extension_um[48] - extension_um[0]) / CODE_UM, "220")


def test_every_step_is_4_or_5_codes_of_the_lens_driver() -> None:
    """The grid was made by a driver with whole codes: the focal length of 4.44 mm must bring them out."""
    codes = np.diff(np.asarray(focus_to_extension_um(PHONE, FOCI))) / CODE_UM
    assert set(np.rint(codes)) == {4.0, 5.0}
    assert np.rint(codes).sum() == 220
    # The table's rounding to 0.01 mm is worth 0.012 codes at the near end, twice that for a step there.
    assert np.abs(codes - np.rint(codes)).max() < 0.025


def test_a_wrong_focal_length_does_not_bring_out_whole_codes() -> None:
    camera = replace(PHONE, focal_length_mm=4.38)
    codes = np.diff(np.asarray(focus_to_extension_um(camera, FOCI))) / CODE_UM
    assert np.abs(codes - np.rint(codes)).max() > 0.1


def test_blur_per_micrometre_of_lens_travel() -> None:
    per_um = blur_growth(NOMINAL) / np.diff(np.asarray(focus_to_extension_um(NOMINAL, FOCI)))
    assert rounds_to(per_um.min(), "0.19")
    assert rounds_to(per_um.max(), "0.20")


# The camera.


def test_constants_of_the_phone() -> None:
    assert rounds_to(NOMINAL.aperture_mm, "2.467")
    assert rounds_to(NOMINAL.aperture_mm * NOMINAL.focal_length_mm, "10.952")
    assert rounds_to(NOMINAL.focal_length_px, "1585.7")
    rows, columns = PHONE.frame
    assert columns > rows  # landscape
    assert rounds_to(2 * math.degrees(math.atan(columns / 2 / PHONE.focal_length_px)), "64.9")
    assert PHONE.aperture_mm == pytest.approx(0.74 * NOMINAL.aperture_mm)


@pytest.mark.parametrize(
    "name", ["focal_length_mm", "f_number", "pixel_pitch_um", "aperture_factor", "split"]
)
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_camera_has_positive_finite_numbers(name: str, value: float) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is a positive number, not {value}"):
        replace(PHONE, **changed)


def test_a_camera_has_a_frame() -> None:
    with pytest.raises(ValueError, match=r"\(rows, columns\), not \(0, 2016\)"):
        replace(PHONE, frame=(0, 2016))


def test_a_camera_cannot_focus_nearer_than_its_focal_length() -> None:
    with pytest.raises(ValueError, match=r"102\.01 mm, is not beyond the focal length, 200 mm"):
        replace(PHONE, focal_length_mm=200.0)


# Blur.

# Depth in metres, nearest index, blur diameter in pixels at positions 0, 8, ..., 48.
BLUR_TABLE = [
    (0.102, 48, "37.4 31.4 25.3 19.0 12.7 6.5 0.0"),
    (0.15, 32, "25.1 19.1 12.9 6.5 0.1 6.3 12.8"),
    (0.20, 24, "18.6 12.5 6.2 0.2 6.6 13.0 19.6"),
    (0.30, 15, "12.1 5.9 0.4 6.9 13.3 19.8 26.5"),
    (0.50, 9, "6.8 0.7 5.7 12.2 18.7 25.2 31.9"),
    (1.0, 4, "2.9 3.3 9.6 16.2 22.7 29.3 36.0"),
    (2.0, 1, "1.0 5.2 11.6 18.2 24.7 31.3 38.0"),
    (3.91, 0, "0.0 6.2 12.6 19.2 25.7 32.3 39.0"),
    (100.0, 0, "1.0 7.2 13.6 20.1 26.7 33.3 40.0"),
]


@pytest.mark.parametrize(("depth_m", "index", "diameters"), BLUR_TABLE)
def test_blur_table(depth_m: float, index: int, diameters: str) -> None:
    blur = np.abs(np.asarray(depth_to_blur(NOMINAL, FOCI[EVERY_EIGHTH], 1 / depth_m)))
    wrong = [
        (k, value, printed)
        for k, value, printed in zip(EVERY_EIGHTH, blur, diameters.split(), strict=True)
        if not rounds_to(value, printed)
    ]
    assert wrong == []
    assert LEARNAF.nearest_index(1 / depth_m) == index


def test_blur_is_the_paper_s_equation_4() -> None:
    """|L f / (1 - f / g) (1 / g - 1 / Z)| in metres on the sensor, for g = 0.5 m and Z = 2 m."""
    aperture, f, g, z = 4.44e-3 / 1.8, 4.44e-3, 0.5, 2.0
    on_sensor = aperture * f / (1 - f / g) * (1 / g - 1 / z)
    assert depth_to_blur(NOMINAL, 1 / g, 1 / z) == pytest.approx(on_sensor / 2.8e-6, rel=1e-12)


def test_blur_by_similar_triangles() -> None:
    """The object's image lies at v', the sensor at v: the cone of light there is L (v - v') / v' wide."""
    f, g, z = 4.44, 500.0, 2000.0  # millimetres
    sensor, image = f * g / (g - f), f * z / (z - f)
    diameter_mm = NOMINAL.aperture_mm * (sensor - image) / image
    assert depth_to_blur(NOMINAL, 1000 / g, 1000 / z) == pytest.approx(diameter_mm / 2.8e-3, rel=1e-12)


def test_blur_growth_per_index() -> None:
    growth = blur_growth(NOMINAL)
    assert rounds_to(growth.mean(), "0.80")
    assert rounds_to(growth.min(), "0.68")
    assert rounds_to(growth.max(), "0.89")


def test_blur_growth_per_index_of_the_uniform_ladder() -> None:
    growth = blur_growth(replace(NOMINAL, grid=FocusGrid.uniform()))
    assert rounds_to(growth.min(), "0.78")
    assert rounds_to(growth.max(), "0.81")


def test_measured_blur_grows_by_059_pixels_per_index() -> None:
    assert rounds_to(blur_growth(PHONE).mean(), "0.59")


def test_greatest_blur() -> None:
    blur = np.abs(np.asarray(depth_to_blur(NOMINAL, FOCI[:, None], FOCI[None, :])))
    assert rounds_to(blur.max(), "39.0")
    assert rounds_to(blur.max() / 2, "19.5")
    assert rounds_to(depth_to_blur(NOMINAL, FOCI[48], 0.0), "40.1")
    assert rounds_to(depth_to_blur(NOMINAL, FOCI[48], 1 / 0.08), "-11")


def test_the_far_end_of_the_ladder_is_the_hyperfocal_focus() -> None:
    """Focused there, infinity is blurred by 1 pixel: at f + L f / pitch = 3.916 m."""
    hyperfocal_m = 3.916
    assert depth_to_blur(NOMINAL, 1 / hyperfocal_m, 0.0) == pytest.approx(1.0, abs=5e-4)
    assert depth_to_blur(NOMINAL, FOCI[0], 0.0) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("camera", [PHONE, NOMINAL])
def test_blur_is_positive_behind_the_focus_plane(camera: CameraModel) -> None:
    focus = 2.0
    assert depth_to_blur(camera, focus, 1.0) > 0  # 1 m, focused at 0.5 m
    assert depth_to_blur(camera, focus, 0.0) > 0  # infinity
    assert depth_to_blur(camera, focus, 2.0) == 0
    assert depth_to_blur(camera, focus, 4.0) < 0  # 0.25 m, in front


def test_blur_is_proportional_to_the_aperture() -> None:
    assert depth_to_blur(PHONE, 5.0, 1.0) == pytest.approx(0.74 * depth_to_blur(NOMINAL, 5.0, 1.0))


# Disparity.


def test_disparity_per_index() -> None:
    assert rounds_to(NOMINAL.split * blur_growth(NOMINAL).mean(), "0.199")
    nominal = np.asarray(depth_to_disparity(NOMINAL, FOCI[1:], FOCI[:-1]))
    assert rounds_to(nominal.mean(), "0.199")
    assert rounds_to(0.1 / nominal.mean(), "0.5")
    measured = np.asarray(depth_to_disparity(PHONE, FOCI[1:], FOCI[:-1]))
    assert rounds_to(measured.mean(), "0.15")


def test_greatest_disparity() -> None:
    disparity = np.asarray(depth_to_disparity(NOMINAL, FOCI[:, None], FOCI[None, :]))
    assert rounds_to(np.abs(disparity).max(), "9.8")
    assert disparity.argmax() == np.ravel_multi_index((48, 0), disparity.shape)


def test_disparity_of_ideal_half_discs() -> None:
    ideal = replace(NOMINAL, split=4 / (3 * math.pi))
    assert rounds_to(np.asarray(depth_to_disparity(ideal, FOCI[1:], FOCI[:-1])).mean(), "0.338")
    assert rounds_to(depth_to_disparity(ideal, FOCI[48], FOCI[0]), "16.6")


def test_disparity_per_dioptre() -> None:
    """The calibration constant C of d = C (1 / z - 1 / z*), with its factor 1 / (1 - f / z)."""
    constant = np.asarray(depth_to_disparity(NOMINAL, FOCI, FOCI - 1.0))
    assert rounds_to(constant[0], "0.98")
    assert rounds_to(constant[48], "1.02")
    assert rounds_to(100 * (constant[48] / constant[0] - 1), "4.4")


def test_disparity_has_the_sign_of_the_blur() -> None:
    assert depth_to_disparity(PHONE, 2.0, 1.0) > 0
    assert depth_to_disparity(PHONE, 2.0, 4.0) < 0


# Breathing.


def test_breathing_by_position() -> None:
    scale = breathing(PHONE)
    printed = ["1.0000", "1.0071", "1.0143", "1.0218", "1.0292", "1.0367", "1.0443"]
    assert all(rounds_to(scale[k], text) for k, text in zip(EVERY_EIGHTH, printed, strict=True))
    assert scale[0] == 1.0


def test_breathing_is_the_distance_from_lens_to_sensor() -> None:
    """v is the focal length plus the lens's extension."""
    v_um = 1e3 * PHONE.focal_length_mm + np.asarray(focus_to_extension_um(PHONE, FOCI))
    np.testing.assert_allclose(breathing(PHONE), v_um / v_um[0], rtol=1e-12)


def test_near_focus_magnifies() -> None:
    assert focus_to_magnification(PHONE, 0.0) == 1.0
    assert (np.diff(breathing(PHONE)) > 0).all()


def test_breathing_per_index() -> None:
    scale = breathing(PHONE)
    per_cent = 100 * (scale[1:] / scale[:-1] - 1)
    assert rounds_to(per_cent.min(), "0.077")
    assert rounds_to(per_cent.max(), "0.101")


@pytest.mark.parametrize(
    ("radius_px", "displacement"),
    [(200, "8.9"), (504, "22.3"), (756, "33.5"), (1008, "44.7"), (1260, "55.8"), (64, "2.8")],
)
def test_radial_displacement_over_the_sweep(radius_px: int, displacement: str) -> None:
    """The last is the edge of a patch of 128 pixels, relative to its own centre."""
    assert rounds_to(radius_px * (breathing(PHONE)[48] - 1), displacement)


def test_drift_at_the_corner_per_index() -> None:
    corner_px = math.hypot(*PHONE.frame) / 2
    assert corner_px == 1260
    assert rounds_to(corner_px * (breathing(PHONE)[48] - 1) / 48, "1.16")


def test_exposure_drops_towards_near() -> None:
    kept = float(breathing(PHONE)[48]) ** -2
    assert rounds_to(100 * (1 - kept), "8.3")
    assert rounds_to(-math.log2(kept), "0.125")


# Inverse pairs.


@settings(deadline=None)
@given(foci)
def test_focus_and_extension(focus: float) -> None:
    extension_um = focus_to_extension_um(PHONE, focus)
    assert extension_to_focus_um(PHONE, extension_um) == pytest.approx(focus, rel=1e-12, abs=1e-300)


@settings(deadline=None)
@given(foci)
def test_focus_and_magnification(focus: float) -> None:
    magnification = focus_to_magnification(PHONE, focus)
    assert magnification_to_focus(PHONE, magnification) == pytest.approx(focus, abs=1e-12)


@settings(deadline=None)
@given(foci, foci)
def test_depth_and_blur(focus: float, depth: float) -> None:
    blur = depth_to_blur(PHONE, focus, depth)
    assert blur_to_depth(PHONE, focus, blur) == pytest.approx(depth, abs=1e-12)


@settings(deadline=None)
@given(foci, foci)
def test_depth_and_disparity(focus: float, depth: float) -> None:
    disparity = depth_to_disparity(PHONE, focus, depth)
    assert disparity_to_depth(PHONE, focus, disparity) == pytest.approx(depth, abs=1e-12)


# The camera as a file.


@pytest.mark.parametrize(
    "camera",
    [
        PHONE,
        replace(NOMINAL, name="a microscope", grid=FocusGrid.uniform(0.2, 0.1, 3), split=1 / 3),
        replace(PHONE, grid=FocusGrid(range(4))),
    ],
)
def test_a_camera_comes_back_from_its_file(camera: CameraModel, tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    camera.to_toml(path)
    assert CameraModel.from_toml(path) == camera
    assert CameraModel.from_toml(str(path)) == camera


def test_a_camera_s_grid_goes_from_far_to_near() -> None:
    with pytest.raises(InputError, match=r"from far \(index 0\) to near, not from 9\.80296 to 0\.255694"):
        replace(PHONE, grid=FocusGrid.learnaf().turned())


WRITTEN = """
focal_length_mm = 50
f_number = 2.8
pixel_pitch_um = 3.45
frame = [1024, 1280]

[grid]
far_m = inf
near_m = 0.5
n = 5
"""


def test_a_camera_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(WRITTEN, encoding="utf-8")
    assert CameraModel.from_toml(path) == CameraModel(
        focal_length_mm=50.0,
        f_number=2.8,
        pixel_pitch_um=3.45,
        frame=(1024, 1280),
        grid=FocusGrid.of_dioptres(np.array([0.0, 0.5, 1.0, 1.5, 2.0])),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("f_number", "aperture", "does not describe a camera: it has the unknown entry 'aperture'"),
        ("f_number = 2.8", "", "does not describe a camera: it lacks 'f_number'"),
        ("frame = [1024, 1280]", "", "does not describe a camera: it lacks 'frame'"),
        ("frame = [1024, 1280]", "frame = 1024", "does not describe a camera"),
        ("[grid]", "[ladder]", "unknown entry 'ladder'"),
        ("n = 5", "", r"\[grid\] holds either dioptres, or far_m, near_m and n, not \['far_m', 'near_m'\]"),
        ("n = 5", "n = 1", "n >= 2"),
        ("f_number = 2.8", "f_number = -2.8", "f_number is a positive number, not -2.8"),
        ("f_number = 2.8", "f_number = 'wide'", "does not describe a camera.*'wide'"),
        ("frame = [1024, 1280]", "frame = [1024, inf]", "does not describe a camera"),
        ("f_number = 2.8", "f_number = ", "is not a TOML file.*line 3"),
    ],
)
def test_bad_files_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    assert old in WRITTEN
    path.write_text(WRITTEN.replace(old, new), encoding="utf-8")
    with pytest.raises(FileError, match=r"bad\.toml .*" + message):
        CameraModel.from_toml(path)


def test_dioptres_are_not_negative_but_rounding_is_forgiven() -> None:
    grid = FocusGrid.of_dioptres(np.sort(3.3 - 0.1 * np.arange(34)))
    assert grid.dioptres[0] == 0.0
    assert grid.index_to_metres(0) == np.inf
    with pytest.raises(InputError, match=r"0 \(infinity\) or more, not -0\.1"):
        FocusGrid.of_dioptres(np.array([-0.1, 0.0, 0.1]))


def test_an_index_of_the_published_grid_is_a_step() -> None:
    assert pytest.approx(0.589, abs=5e-4) == STEP_PX
    assert steps_per_index(CameraModel.pixel3()) == 1
    finer = replace(CameraModel.pixel3(), grid=FocusGrid.uniform(n=97))
    assert steps_per_index(finer) == pytest.approx(0.5, rel=0.01)
