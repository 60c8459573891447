"""What a sweep tells of a camera, on simulated cameras of three makes."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from dioptre.cameras.camera_files import describe
from dioptre.cameras.camera_presets import MAKES
from dioptre.cameras.simulated import SimulatedCamera
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel, depth_to_blur
from dioptre.pipeline.camera_fit import disparity, fit_blur, fit_disc, fit_line, transfer
from dioptre.pipeline.camera_model import (
    MeasuredCamera,
    measure_camera,
    scale_of,
    write_camera,
)
from dioptre.pipeline.settings import Sweep
from dioptre.simulate.capture import Conditions
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.lens import Actuator, VoiceCoil
from dioptre.simulate.live_scene import draw_target

GRIDS = {
    "pixel3": FocusGrid.learnaf(),
    "machine-vision-16mm": FocusGrid.of_dioptres(np.linspace(1.2, 2.8, 33)),
    "dslr-50mm": FocusGrid.of_dioptres(np.linspace(1.0, 1.16, 33)),
}


def before_target(make: str, actuator: Actuator, settle_s: float = 0.05) -> SimulatedCamera:
    rng = np.random.default_rng(1)
    camera = replace(MAKES[make](), grid=GRIDS[make])
    stage = draw_target(camera, PhoneOptics(), rng, Conditions())
    return SimulatedCamera(stage, VoiceCoil(camera, actuator, 0.0, rng), rng, settle_s=settle_s)


def growth_of(camera: CameraModel, depth: float) -> float:
    return 1e3 * float(depth_to_blur(camera, depth + 1e-3, depth))


@pytest.fixture(scope="module", params=list(GRIDS))
def found(request: pytest.FixtureRequest) -> tuple[MeasuredCamera, SimulatedCamera]:
    camera = before_target(request.param, replace(Actuator.exact(), play_um=8.0, settling_s=0.0))
    return measure_camera(camera, request.param, Sweep()), camera


def test_growth_is_recovered_within_a_tenth(found: tuple[MeasuredCamera, SimulatedCamera]) -> None:
    measured, camera = found
    truth = growth_of(camera.stage.camera, camera.stage.depth)
    assert measured.growth_px == pytest.approx(truth, rel=0.1)
    assert measured.sure < 0.15
    assert abs(measured.growth_px / truth - 1) < max(measured.sure, 0.02)


def test_disparity_is_recovered_within_a_tenth(found: tuple[MeasuredCamera, SimulatedCamera]) -> None:
    measured, camera = found
    truth = camera.stage.camera.split * growth_of(camera.stage.camera, camera.stage.depth)
    assert measured.disparity_px is not None
    assert abs(measured.disparity_px) == pytest.approx(truth, rel=0.1)
    assert measured.split == pytest.approx(0.25, rel=0.1)


def test_backlash_is_recovered_within_a_tenth(found: tuple[MeasuredCamera, SimulatedCamera]) -> None:
    measured, camera = found
    make = camera.stage.camera
    lens, middle = VoiceCoil(make, Actuator.exact(), 0.0, np.random.default_rng(0)), len(make.grid) // 2
    ends = [lens.rest(middle)]
    lens.offset_um = 16.0  # as much as the play is wide
    ends.append(lens.rest(middle))
    assert measured.backlash == pytest.approx(ends[1] - ends[0], rel=0.1)
    assert measured.backlash_positions > 0


def test_the_file_is_what_the_networks_are_told(
    found: tuple[MeasuredCamera, SimulatedCamera], tmp_path_factory: pytest.TempPathFactory
) -> None:
    measured, camera = found
    path = tmp_path_factory.mktemp("camera") / "mine.toml"
    write_camera(measured, path)
    told = describe(path)
    assert (told.unit, told.growth_px, told.name) == ("dioptres", measured.growth_px, measured.name)
    assert told.travel == (float(camera.grid.dioptres[0]), float(camera.grid.dioptres[-1]))
    filled = FocusGrid(camera.grid.positions, dioptres=camera.grid.dioptres, camera=path)
    per_slice = np.gradient(camera.grid.dioptres)
    np.testing.assert_allclose(filled.blur_per_unit_px, measured.growth_px * per_slice)


def test_a_lens_that_has_settled_needs_no_more_time(found: tuple[MeasuredCamera, SimulatedCamera]) -> None:
    assert found[0].settle_s == 0.0


def test_a_lens_that_rings_is_noticed() -> None:
    slow = replace(Actuator.exact(), settling_s=0.06, ringing_hz=3.0)
    measured = measure_camera(before_target("pixel3", slow, 0.0), "slow", Sweep(every=2))
    assert 0.06 < measured.settle_s < 0.3


def test_a_blank_wall_tells_nothing() -> None:
    noise = np.random.default_rng(0).normal(0.5, 0.001, (12, 1, 64, 64)).astype(np.float32)
    with pytest.raises(InputError, match=r"too little texture|fewer than 3 slices"):
        fit_blur(noise, np.arange(12.0))


def test_a_disc_is_read_off_its_own_transfer() -> None:
    frequency = np.linspace(0.01, 0.35, 30)
    for diameter in (2.5, 7.0, 19.0):
        assert fit_disc(frequency, transfer(diameter, frequency)) == pytest.approx(diameter, rel=1e-3)


def test_a_line_is_deaf_to_a_point_that_is_off() -> None:
    x = np.arange(10.0)
    y = 2 * x - 6
    y[7] += 30
    line = fit_line(x, y)
    assert (line.slope, line.zero) == (pytest.approx(2.0), pytest.approx(3.0))


def test_a_shift_of_views_is_read_off() -> None:
    rng = np.random.default_rng(3)
    spectrum = np.fft.rfft2(rng.standard_normal((96, 96)))
    f = np.hypot(np.fft.fftfreq(96)[:, None], np.fft.rfftfreq(96)[None, :])
    fx = np.fft.rfftfreq(96)[None, :]
    for truth in (-2.3, 0.0, 1.6):
        pair = [
            np.fft.irfft2(spectrum * np.exp(-200 * f**2) * np.exp(-2j * np.pi * fx * by))
            for by in (0.0, truth)
        ]
        views = np.stack([1.0 + 0.2 * one / np.std(pair[0]) for one in pair]).astype(np.float32)
        assert disparity(views) == pytest.approx(truth, abs=0.05)


@dataclass(eq=False)
class Focuser:
    """A phone whose driver counts in steps, from the far end or from the near one."""

    phone: SimulatedCamera
    grid: FocusGrid

    @property
    def views(self) -> int:
        return self.phone.views

    @property
    def shape(self) -> tuple[int, int]:
        return self.phone.shape

    @property
    def where(self) -> tuple[float, float] | None:
        return self.phone.where

    def capture(self, index: int) -> np.ndarray:
        return self.phone.capture(index if self.grid.far_to_near else 48 - index)


@pytest.mark.parametrize("nearer", [True, False])
def test_a_file_is_in_the_driver_s_own_unit_and_says_which_way_is_near(nearer: bool, tmp_path: Path) -> None:
    phone = before_target("pixel3", Actuator.exact())
    focuser = Focuser(phone, FocusGrid(range(0, 4900, 100), "steps", nearer=nearer))
    measured = measure_camera(focuser, "mine", Sweep(every=2))
    assert measured.unit == "steps"
    assert (measured.far, measured.near) == ((0, 4800) if nearer else (4800, 0))
    per_step = growth_of(phone.stage.camera, phone.stage.depth) * np.diff(phone.grid.dioptres).mean() / 100
    assert measured.growth_px == pytest.approx(per_step if nearer else -per_step, rel=0.2)
    truth = phone.truth if nearer else 48 - phone.truth
    assert measured.focus == pytest.approx(100 * truth, abs=100)
    write_camera(measured, tmp_path / "mine.toml")
    grid = FocusGrid(focuser.grid.positions, "steps", camera=tmp_path / "mine.toml")
    assert grid.nearer is nearer


def test_a_file_is_written_in_the_grid_s_unit_and_of_slices_in_their_dioptres() -> None:
    positions, unit = scale_of(FocusGrid.learnaf())
    assert (unit, positions.tolist()) == ("dioptres", FocusGrid.learnaf().dioptres.tolist())
    assert scale_of(FocusGrid(range(9)))[1] == "slice"
    positions, unit = scale_of(FocusGrid([3.0, 2.0, 0.5], "um", nearer=True))
    assert (unit, positions.tolist()) == ("um", [3.0, 2.0, 0.5])
