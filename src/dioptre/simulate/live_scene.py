"""A stage: a random scene before a phone, in some light, to be seen at any focus, one frame after the other.

What `capture.draw_patch` is for a whole sweep, this is for a lens that is driven.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from dioptre.optics import CameraModel
from dioptre.simulate.capture import RIM, Conditions, draw_place, draw_surfaces, draw_visible
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.light import draw_exposure
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render
from dioptre.simulate.scene import Layer, Scene, diffract, fine_size, soften
from dioptre.simulate.sensor import Noise, native_to_pixels, read_native
from dioptre.simulate.texture import dead_leaves

SURFACES = 2  # that a scene is made of
TARGET_PX = (3.0, 60.0)  # fine pixels: the smallest and the largest things on a target
TARGET_LIGHT = 0.25  # its mean, as a part of white
SURFACE_PX = 1024  # fine pixels; what is smaller than a scene is mirrored on


@dataclass(frozen=True, eq=False)
class LiveScene:
    """What stands before a camera, and how it is lit.

    Attributes:
        view: Camera, phone and place in the field, with the rim that rows are made of.
        scene: What is there.
        gain: What radiance 1 becomes, as a part of white.
        noise: The sensor's.
        depth: Where the middle of what is seen lies, in dioptres: the best focus.
    """

    view: PatchView
    scene: Scene
    gain: float
    noise: Noise
    depth: float

    @property
    def camera(self) -> CameraModel:
        """The camera."""
        return self.view.camera

    @property
    def size(self) -> int:
        """Rows and columns of its frames."""
        return self.view.size - 2 * RIM

    @property
    def where(self) -> tuple[float, float]:
        """The middle of its frames in the whole field, (x, y) in [-1, 1]."""
        (x, y), (rows, cols) = self.view.spread.at, self.camera.frame
        return 2 * x / cols, 2 * y / rows

    def shine(self, focus: float) -> Float32[np.ndarray, "2 rows cols"]:
        """Returns the light on both views when the lens is focused so, 1 at white, without noise."""
        light = render(self.scene, self.view, focus) * np.float32(self.gain)
        light *= self.view.spread.device.shading_within(self.camera, self.view.spread.at, self.view.size)
        return light[..., RIM:-RIM]

    def expose(
        self, light: Float32[np.ndarray, "2 rows cols"], rng: np.random.Generator
    ) -> Float32[np.ndarray, "2 size size"]:
        """Returns the pixels of one frame of some light, with fresh noise."""
        return native_to_pixels(read_native(light[None], self.noise, rng))[0]


def draw_stage(
    camera: CameraModel,
    device: PhoneOptics,
    rng: np.random.Generator,
    conditions: Conditions,
    light: str = "normal",
    size: int = 128,
) -> LiveScene:
    """Returns a random scene with something to focus on, before a random place of a phone.

    Args:
        camera: The camera.
        device: The phone.
        rng: Draws everything.
        conditions: How hard it is.
        light: "normal" or "dark".
        size: Rows and columns of a frame; even.
    """
    at = draw_place(camera, size, rng)
    view = PatchView(PointSpread(camera, device, at), size + 2 * RIM, conditions.breathing)
    gain, noise = draw_exposure(light, conditions.lighting, rng)
    surfaces = draw_surfaces(rng, conditions.clutter, count=SURFACES, size=SURFACE_PX)
    found = draw_visible(view, surfaces, rng, conditions, gain, noise)
    return LiveScene(view, found.scene, gain, noise, float(np.median(found.depths)))


def draw_target(
    camera: CameraModel,
    device: PhoneOptics,
    rng: np.random.Generator,
    conditions: Conditions,
    light: str = "normal",
    size: int = 128,
) -> LiveScene:
    """Returns a textured plane that faces the middle of a phone, in focus in the middle of its grid.

    In normal light it is lit as a target should be: neither dim nor near white.

    Args:
        camera: The camera.
        device: The phone.
        rng: Draws texture and light.
        conditions: How hard it is.
        light: "normal" or "dark".
        size: Rows and columns of a frame; even.
    """
    view = PatchView(PointSpread(camera, device, (0.0, 0.0)), size + 2 * RIM, conditions.breathing)
    gain, noise = draw_exposure(light, conditions.lighting, rng)
    if light == "normal":
        gain, noise = TARGET_LIGHT, Noise()
    depth = float(np.mean(camera.grid.dioptres[[0, -1]]))
    n = fine_size(view.size, view.margin())
    leaves = dead_leaves(n, n, rng, *TARGET_PX).astype(np.float32)
    scene = Scene((Layer(soften(leaves / leaves.mean()), depth),), view.margin())
    return LiveScene(view, diffract(scene, camera), gain, noise, depth)
