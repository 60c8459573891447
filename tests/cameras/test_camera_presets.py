"""Makes of camera that are not the paper's phone: in the optics, and in the simulator."""

import numpy as np
import pytest

from dioptre.cameras.camera_presets import MAKES, find_camera
from dioptre.errors import FileError
from dioptre.optics import CameraModel, blur_in_focus, focus_to_magnification
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView
from dioptre.simulate.scene import FINE, Layer, Scene, diffract

MICROSCOPE = MAKES["microscope-4x"]()


@pytest.mark.parametrize("name", MAKES)
def test_a_make_has_its_name_and_a_field_that_the_simulator_can_see(name: str) -> None:
    camera = find_camera(name)
    assert camera.name == name
    view = PatchView(PointSpread(camera, PhoneOptics(), (0.0, 0.0)), 132)
    assert 0 < view.margin() < 2000


def test_the_microscope_is_one() -> None:
    """Magnification 4 and aperture 0.1: v is five focal lengths, and the lens 9 mm wide 45 mm away."""
    middle = 1 / 0.045
    assert focus_to_magnification(MICROSCOPE, middle) - 1 == pytest.approx(4.0)
    assert MICROSCOPE.aperture_mm / 2 * middle * 1e-3 == pytest.approx(0.1)
    airy_um = 0.44 * 0.55 / (2 * 0.1) * 4
    assert blur_in_focus(MICROSCOPE) == pytest.approx(
        np.hypot(airy_um / 6.5, np.hypot(0.4, 12**-0.5)), rel=1e-2
    )


def test_a_camera_that_nobody_knows_is_refused() -> None:
    with pytest.raises(FileError, match=r"no camera 'nonesuch\.toml': one of pixel3"):
        find_camera("nonesuch.toml")


def test_diffraction_softens_what_a_microscope_sees_and_not_what_the_phone_does() -> None:
    picture = np.zeros((65, 65), np.float32)
    picture[32, 32] = 1.0
    scene = Scene((Layer(picture, 5.0, picture), Layer(picture, 4.0)), margin=4)
    assert diffract(scene, CameraModel.pixel3()) is scene
    soft = diffract(scene, MICROSCOPE).layers
    place = np.arange(65) - 32
    added = blur_in_focus(MICROSCOPE) ** 2 - blur_in_focus(CameraModel.pixel3()) ** 2
    for light in (soft[0].radiance, soft[0].alpha, soft[1].radiance):
        assert light is not None
        assert float(light.sum()) == pytest.approx(1.0, rel=1e-4)
        assert float((light.sum(axis=0) * place**2).sum()) / FINE**2 == pytest.approx(added, rel=0.03)
