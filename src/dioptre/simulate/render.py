"""The renderer: a scene, a camera and a lens in, what both views of the sensor see out.

For each slice and each layer: sample the layer where the slice's magnification puts it (focal breathing about
the principal point), blur it with the kernels of its depth, and lay it behind what is in front.

* A layer at one depth is convolved. Where blur is large, it is convolved at half resolution: such a
  kernel has nothing left to say about single pixels.
* On a surface of varying depth each pixel gathers with its own kernel, in steps of STEP_PX of diameter.
* Blurred alpha hides what is behind (each view with its own kernel).

The result is radiance as the sensor would integrate it, before noise, clipping and binning.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

from dioptre.errors import InputError
from dioptre.optics import CameraModel, depth_to_blur, focus_to_magnification
from dioptre.simulate import kernels
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.scene import FINE, Layer, Scene
from dioptre.simulate.sensor import expose
from dioptre.stack import AnyPicture

STEP_PX = 0.25  # of blur diameter, on surfaces of varying depth
HALVED_PX = 9.0  # from this diameter on, blur is done at half resolution
HALVING_VARIANCE = 4.0  # 16 times what pooling 2 x 2 pixels adds to a kernel's variance, px^2
SPARE = 3  # coarse pixels around a half-resolution patch, for interpolation

Views = Float32[np.ndarray, "2 _ _"]
Sampler = Callable[[AnyPicture, int], AnyPicture]


@dataclass(frozen=True, eq=False)
class PatchView:
    """Where a patch is seen from: everything but the scene and the focus.

    Attributes:
        spread: The blur kernels at the patch's place in the field; its `at` is the patch's centre.
        size: Rows and columns of the patch.
        breathing: How much of the thin lens's change of scale there is, 1 for all and 0 for none; exposure
            falls with the square of the scale.
    """

    spread: PointSpread
    size: int = 128
    breathing: float = 1.0

    @property
    def camera(self) -> CameraModel:
        """The camera."""
        return self.spread.camera

    def margin(self, shift_px: float = 0.0, beyond: float = 0.0) -> int:
        """Returns the margin of a scene around the patch in pixels: blur, breathing, side motion.

        Args:
            shift_px: How far the optical axis wanders.
            beyond: How many indices beyond the ends of the grid things may lie.
        """
        camera = self.camera
        far, near = float(camera.grid.dioptres[0]), float(camera.grid.dioptres[-1])
        step = float(np.mean(np.diff(camera.grid.dioptres)))
        farthest = min(max(0.0, far - 9 * step), far - beyond * step)
        ends = np.array([farthest, near + max(9.0, beyond) * step])
        widest = max(abs(float(np.max(np.abs(depth_to_blur(camera, ends, d))))) for d in ends)
        scale = np.asarray(focus_to_magnification(camera, ends)) / self._reference
        drift = (np.hypot(*self.spread.at) + self.size) * float(np.max(np.abs(scale - 1)))
        return int(np.ceil(0.65 * self.spread.device.most_gain * widest + drift + shift_px)) + 6

    @property
    def _reference(self) -> float:
        return float(focus_to_magnification(self.camera, float(self.camera.grid.dioptres[0])))

    def magnification(self, focus: float) -> float:
        """Returns the image's scale relative to the far end of the grid."""
        return 1 + self.breathing * (float(focus_to_magnification(self.camera, focus)) / self._reference - 1)


def render(
    scene: Scene, view: PatchView, focus: float, principal_point: tuple[float, float] = (0.0, 0.0)
) -> Views:
    """Returns the radiance that the left and the right view see of a scene, (2, size, size).

    Args:
        scene: Its layers reach far enough (`PatchView.margin`).
        view: Camera, device and place.
        focus: Where the lens is truly focused, in dioptres.
        principal_point: Where the optical axis meets the frame, (x, y) pixels from its centre.
    """
    scale = view.magnification(focus)
    total = np.zeros((2, view.size, view.size), dtype=np.float32)
    clear = np.ones_like(total)  # how much of the pupil still sees what is behind
    for layer in scene.layers:
        light, cover = _layer(layer, scene, view, focus, scale, principal_point)
        total += clear * light
        if cover is not None:
            clear *= 1 - cover
    return total / np.float32(scale * scale)


def render_stack(
    scene: Scene,
    view: PatchView,
    focus: Float[np.ndarray, " slice"],
    principal_points: Float[np.ndarray, "slice 2"] | None = None,
) -> Float32[np.ndarray, "slice 2 size size"]:
    """Returns `render` for each slice of a sweep."""
    points = np.zeros((len(focus), 2)) if principal_points is None else principal_points
    out = np.empty((len(focus), 2, view.size, view.size), dtype=np.float32)
    for one, dioptres, (x, y) in zip(out, focus, points, strict=True):
        one[...] = render(scene, view, float(dioptres), (float(x), float(y)))
    return out


def _layer(
    layer: Layer,
    scene: Scene,
    view: PatchView,
    focus: float,
    scale: float,
    principal_point: tuple[float, float],
) -> tuple[Views, Views | None]:
    """Returns a layer's light and cover in both views."""

    def sampled(picture: AnyPicture, border: int) -> AnyPicture:
        return sample(picture, scene.margin, view, scale, principal_point, border)

    cover: Views | None
    if isinstance(layer.depth, float):
        light, cover = blur_flat_layer(layer, layer.depth, view, focus, sampled)
    else:
        depth = sampled(layer.depth, 0)
        diameters = np.asarray(depth_to_blur(view.camera, focus, depth.astype(np.float64)))
        light = _blur_surface(layer.radiance, layer.alpha, diameters, view, sampled)
        cover = None if layer.alpha is None else _blur_surface(layer.alpha, None, diameters, view, sampled)
    if cover is not None:
        cover = np.clip(cover / view.spread.sums[:, None, None], 0.0, 1.0)
    return light, cover


def sample(
    picture: Float32[np.ndarray, "rows cols"],
    margin: int,
    view: PatchView,
    scale: float,
    principal_point: tuple[float, float],
    border: int,
) -> Float32[np.ndarray, "r c"]:
    """Returns a layer on the patch's pixels and `border` more on every side, without blur."""
    (px, py), (ax, ay) = principal_point, view.spread.at
    first = -border - (view.size - 1) / 2  # of the sampled pixels, from the patch's centre
    middle = FINE * (margin + view.size / 2) - 0.5  # of the picture, on its own grid
    row = ((ay + first - py) / scale - ay) * FINE + middle
    col = ((ax + first - px) / scale - ax) * FINE + middle
    out = np.empty((view.size + 2 * border, view.size + 2 * border), dtype=np.float32)
    last = (len(out) - 1) * FINE / scale
    if min(row, col) < 1 or max(row, col) + last > len(picture) - 3:
        raise InputError(f"a scene with a margin of {margin} pixels does not reach far enough for this patch")
    kernels.resample(picture, row, col, FINE / scale, out)
    return out


def blur_flat_layer(
    layer: Layer, depth: float, view: PatchView, focus: float, sampled: Sampler
) -> tuple[Views, Views | None]:
    """Returns the light and, if it is not everywhere, the cover of a layer at one depth."""
    diameter = float(depth_to_blur(view.camera, focus, depth))
    light = blur_flat(layer.radiance, layer.alpha, diameter, view, sampled)
    return light, None if layer.alpha is None else blur_flat(layer.alpha, None, diameter, view, sampled)


def blur_flat(
    picture: AnyPicture, alpha: AnyPicture | None, diameter: float, view: PatchView, sampled: Sampler
) -> Views:
    """Returns a layer at one depth in both views."""
    if abs(diameter) * view.spread.device.blur_gain(diameter) >= HALVED_PX:
        return _blur_flat_halved(picture, alpha, diameter, view, sampled)
    pair = view.spread.kernels(diameter)
    out = np.empty((2, view.size, view.size), dtype=np.float32)
    kernels.blur_pair(_covered(picture, alpha, pair.shape[1] // 2, sampled), pair, out)
    return out


def _blur_flat_halved(
    picture: AnyPicture, alpha: AnyPicture | None, diameter: float, view: PatchView, sampled: Sampler
) -> Views:
    pair = view.spread.kernels(float(halved_diameter(diameter, view.spread.device)))
    border = pair.shape[1] // 2 + SPARE
    small = np.empty((2, view.size // 2 + 2 * SPARE, view.size // 2 + 2 * SPARE), dtype=np.float32)
    kernels.blur_pair(pooled(_covered(picture, alpha, 2 * border, sampled)), pair, small)
    return doubled(small, view.size)


def _blur_surface(
    picture: AnyPicture,
    alpha: AnyPicture | None,
    diameters: Float[np.ndarray, "rows cols"],
    view: PatchView,
    sampled: Sampler,
) -> Views:
    """Returns a layer of varying depth in both views; `diameters` are those of the patch's pixels."""
    steps, pairs, half, halved = kernel_levels(view, diameters)
    out = np.empty((2, *steps.shape), dtype=np.float32)
    if halved:
        image = pooled(_covered(picture, alpha, 2 * (half + SPARE), sampled))
    else:
        image = _covered(picture, alpha, half, sampled)
    kernels.blur_each(image, pairs, steps, out)
    return doubled(out, view.size) if halved else out


def kernel_levels(
    view: PatchView, diameters: Float[np.ndarray, "rows cols"]
) -> tuple[Int[np.ndarray, "_ _"], Float32[np.ndarray, "level 2 n n"], int, bool]:
    """Returns the number of each pixel's pair of kernels, the pairs, and their half-width in pixels.

    The last value is whether all this is about pixels twice as large, with a spare rim: wide blur is.
    """
    device = view.spread.device
    halved = float(np.abs(diameters).min()) * device.least_gain >= HALVED_PX
    if halved:
        padded = np.pad(pooled(diameters.astype(np.float32)), SPARE, mode="edge")
        diameters = halved_diameter(padded, device)
    steps = np.round(diameters / STEP_PX).astype(np.int64)
    levels = np.arange(steps.min(), steps.max() + 1)
    half = max(view.spread.half(float(level * STEP_PX)) for level in levels[[0, -1]])
    pairs = np.stack([view.spread.kernels(float(level * STEP_PX), half) for level in levels])
    return steps - levels[0], pairs, half, halved


def _covered(picture: AnyPicture, alpha: AnyPicture | None, border: int, sampled: Sampler) -> AnyPicture:
    image = sampled(picture, border)
    return image if alpha is None else image * sampled(alpha, border)


def halved_diameter(diameter: Any, device: PhoneOptics) -> Any:
    """Returns diameters in pixels twice as large that make up for their own blur."""
    gain = np.where(np.asarray(diameter) < 0, device.blur_gain(-1.0), device.blur_gain(1.0))
    return np.sign(diameter) * np.sqrt(diameter**2 - HALVING_VARIANCE / gain**2) / 2


def pooled(image: AnyPicture) -> AnyPicture:
    """Returns the means of 2 x 2 pixels."""
    return ((image[::2, ::2] + image[1::2, 1::2]) + (image[1::2, ::2] + image[::2, 1::2])) * np.float32(0.25)


def doubled(small: Views, size: int) -> Views:
    """Returns both views at full resolution again, without their spare rim."""
    out = np.empty((2, size, size), dtype=np.float32)
    for view in range(2):
        kernels.resample(small[view], SPARE - 0.25, SPARE - 0.25, 0.5, out[view])
    return out


def defocus(
    texture: Float[np.ndarray, "rows cols"], diameters_px: Float[np.ndarray, " slice"], size: int
) -> Float32[np.ndarray, "slice 2 size size"]:
    """Returns the middle `size` pixels of a texture in both views, blurred by signed diameters.

    No breathing, the middle of the field: the plainest stack there is. The texture is on the sensor's own
    pixels, and wider than `size` by the largest diameter and a few pixels.
    """
    margin = [(length - size) // 2 for length in texture.shape]
    spread = PointSpread(CameraModel.pixel3(), PhoneOptics(), (0.0, 0.0))
    image = texture.astype(np.float32)
    out = np.empty((len(diameters_px), 2, size, size), dtype=np.float32)
    for diameter, views in zip(diameters_px, out, strict=True):
        pair = spread.kernels(float(diameter))
        half = pair.shape[1] // 2
        if min(margin) < half:
            raise InputError(
                f"a texture of {texture.shape} leaves {min(margin)} pixels of margin, not {half}"
            )
        rows, cols = (slice(m - half, m + size + half) for m in margin)
        kernels.blur_pair(np.ascontiguousarray(image[rows, cols]), pair, views)
    return out


def plane_stack(
    camera: CameraModel,
    depth: float,
    texture: Float[np.ndarray, "rows cols"],
    rng: np.random.Generator,
    size: int = 128,
    shot: float = 0.3,
    read: float = 1.2,
) -> Float32[np.ndarray, "n 2 size size"]:
    """Returns the stack that the camera takes of a plane in the middle of the field, without breathing.

    Args:
        camera: The camera; its lens goes exactly where it is told.
        depth: Depth of the plane in dioptres.
        texture: What is painted on the plane, on the sensor's own pixels.
        rng: Draws the noise.
        size: Rows and columns of the patch.
        shot: See `sensor.expose`.
        read: See `sensor.expose`.
    """
    diameters = np.asarray(depth_to_blur(camera, camera.grid.dioptres, depth))
    return expose(defocus(texture, diameters, size), shot, read, rng)
