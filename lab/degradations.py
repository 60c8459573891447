"""Mishaps: what the world does to a focal sweep, as small pure functions.

Each takes a clean sweep of both views, another one of another scene, and a generator, and returns the sweep
as a camera might have recorded it, with the places where an answer is right.
"""

from dataclasses import dataclass, replace

import cv2
import numpy as np
from jaxtyping import Float, Float32

from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.sensor import GAMMA, LEVELS
from dioptre.simulate.texture import log_uniform
from dioptre.stack import upsample_rows

Pixels = Float32[np.ndarray, "slice 2 row col"]
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Sweep:
    """All slices of one scene, and where they are sharp.

    Attributes:
        pixels: Both views of every slice, linear, 1 at white.
        sharp: The fractional indices at which something is sharp; outside of the ladder if the subject lies
            beyond its end, none if there is nothing to focus on.
    """

    pixels: Pixels
    sharp: tuple[float, ...]

    @property
    def slices(self) -> int:
        """How many there are."""
        return len(self.pixels)

    def nearest(self, answer: int) -> float | None:
        """Returns the right place that is nearest to an answer; None if there is none."""
        return min(self.sharp, key=lambda one: abs(answer - one), default=None)

    def error(self, answer: int) -> float | None:
        """Returns how many indices an answer is off; None if no answer is right."""
        right = self.nearest(answer)
        return None if right is None else answer - right

    def every(self, stride: int, begin: int = 0) -> "Sweep":
        """Returns the sweep of every so many slices, counted anew."""
        sharp = tuple((one - begin) / stride for one in self.sharp)
        return Sweep(self.pixels[begin::stride], sharp)


def _with(sweep: Sweep, pixels: Pixels) -> Sweep:
    return replace(sweep, pixels=np.clip(pixels, 0.0, 1.0).astype(np.float32, copy=False))


def _run(slices: int, shortest: int, longest: int, rng: Rng) -> tuple[int, int]:
    """Returns the first and the past-the-last slice of a run."""
    length = int(rng.integers(shortest, longest + 1))
    begin = int(rng.integers(0, slices - length + 1))
    return begin, begin + length


def _noise(pixels: Pixels, deviations: Float32[np.ndarray, "..."], rng: Rng) -> Pixels:
    """Returns fresh noise as the sensor has it: one number for each pair of rows, then upsampled."""
    slices, views, rows, cols = pixels.shape
    drawn = rng.standard_normal((slices, views, rows // 2 + 2, cols), dtype=np.float32)
    return upsample_rows(drawn)[:, :, :rows] * deviations


def _shot(pixels: Pixels, shot: float, read: float, rng: Rng) -> Pixels:
    """Returns pixels with the noise of light; shot and read as `sensor.Noise` has them."""
    deviations = np.sqrt(shot * pixels / LEVELS + (read / LEVELS) ** 2, dtype=np.float32)
    return pixels + _noise(pixels, deviations, rng)


def _each_slice(gains: Float[np.ndarray, " slice"]) -> Float32[np.ndarray, "slice 1 1 1"]:
    return gains.astype(np.float32)[:, None, None, None]


# Light


def clean(sweep: Sweep, _other: Sweep, _rng: Rng) -> Sweep:
    """Returns the sweep as it is."""
    return sweep


def low_light(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of a scene with so little light that noise is as large as its texture."""
    dim = sweep.pixels * np.float32(log_uniform(rng, 0.004, 0.02) / max(float(sweep.pixels.mean()), 1e-3))
    return _with(sweep, _shot(np.minimum(dim, 1.0), 1.5, 2.5, rng))


def flicker(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep under a lamp that makes every slice another brightness."""
    gains = 1 + rng.uniform(0.05, 0.25) * rng.standard_normal(sweep.slices)
    return _with(sweep, sweep.pixels * _each_slice(np.clip(gains, 0.3, 2.0)))


def mains_bands(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep with the bands that a rolling shutter makes of mains light."""
    rows = np.arange(sweep.pixels.shape[2]) / log_uniform(rng, 16.0, 200.0)
    phases = rng.random(sweep.slices)[:, None]
    bands = 1 + rng.uniform(0.05, 0.25) * np.sin(2 * np.pi * (rows + phases))
    return _with(sweep, sweep.pixels * bands.astype(np.float32)[:, None, :, None])


def exposure_drift(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep whose exposure drifts up or down all along."""
    return _with(
        sweep, sweep.pixels * _each_slice(np.linspace(1.0, log_uniform(rng, 0.4, 2.5), sweep.slices))
    )


def exposure_steps(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep whose exposure jumps a few times."""
    jumps = np.zeros(sweep.slices)
    jumps[rng.choice(sweep.slices, int(rng.integers(2, 6)), replace=False)] = rng.uniform(-0.4, 0.4)
    return _with(sweep, sweep.pixels * _each_slice(np.exp(np.cumsum(jumps) - np.cumsum(jumps).mean())))


def auto_gain(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep in some slices of which the camera shortens the exposure and lifts gain and noise."""
    begin, end = _run(sweep.slices, 5, 20, rng)
    lifted = np.zeros(sweep.slices)
    lifted[begin:end] = log_uniform(rng, 0.008, 0.06)
    if rng.random() < 0.5:  # not all at once
        lifted = np.convolve(lifted, np.ones(5) / 5, mode="same")
    return _with(sweep, sweep.pixels + _noise(sweep.pixels, _each_slice(lifted), rng))


def denoiser(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep in which a denoiser that softens the picture switches on or off."""
    begin = int(rng.integers(8, sweep.slices - 8))
    some = slice(begin, None) if rng.random() < 0.5 else slice(None, begin)
    sigma = rng.uniform(0.6, 1.6)
    pixels = sweep.pixels.copy()
    for view in pixels[some].reshape(-1, *pixels.shape[2:]):
        view[...] = cv2.GaussianBlur(view, (0, 0), sigma)
    return _with(sweep, pixels)


def saturation(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep exposed so long that a good part of it is white."""
    level = float(np.quantile(sweep.pixels[::8], 1 - rng.uniform(0.2, 0.8)))
    return _with(sweep, sweep.pixels / np.float32(max(level, 1e-3)))


# Sensor and processing


def hot_pixels(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep with pixels that are always white, and some that blink."""
    rows, cols = sweep.pixels.shape[2:]
    pixels = sweep.pixels.copy()
    count = int(rng.integers(10, 120))
    pixels[:, :, rng.integers(rows, size=count), rng.integers(cols, size=count)] = rng.uniform(0.3, 1.0)
    for one in pixels:
        at = rng.integers(rows, size=count // 3), rng.integers(cols, size=count // 3)
        one[:, at[0], at[1]] = rng.uniform(0.3, 1.0)
    return _with(sweep, pixels)


def hot_rows(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep with rows that are brighter than they should be, in some slices."""
    pixels = sweep.pixels.copy()
    rows = rng.integers(pixels.shape[2], size=int(rng.integers(1, 5)))
    some = rng.random(sweep.slices) < rng.uniform(0.2, 0.8)
    pixels[np.ix_(np.flatnonzero(some), np.arange(2), rows)] += rng.uniform(0.03, 0.3)
    return _with(sweep, pixels)


def dust(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep through dust on the sensor: spots that are as sharp in every slice."""
    rows, cols = sweep.pixels.shape[2:]
    shade = np.ones((rows, cols), np.float32)
    for _ in range(int(rng.integers(3, 20))):
        centre = int(rng.integers(cols)), int(rng.integers(rows))
        cv2.circle(shade, centre, int(rng.integers(1, 6)), float(rng.uniform(0.2, 0.8)), -1)
    return _with(sweep, sweep.pixels * cv2.GaussianBlur(shade, (0, 0), 0.6))


def text_overlay(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep with a clock and a counter burnt in."""
    pixels = sweep.pixels.copy()
    row, begin = int(rng.integers(20, pixels.shape[2] - 4)), int(rng.integers(1000))
    for number, views in enumerate(pixels):
        ink = np.zeros(views.shape[1:], np.uint8)
        text = f"12:{number:02d} #{begin + number}"
        cv2.putText(ink, text, (2, row), cv2.FONT_HERSHEY_SIMPLEX, 0.55, 255, 1, cv2.LINE_AA)
        np.maximum(views, ink.astype(np.float32) / 255, out=views)
    return _with(sweep, pixels)


def jpeg(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of strongly compressed JPEG pictures, with their tone curve."""
    quality = int(rng.integers(5, 31))
    shown = np.rint(255 * sweep.pixels ** np.float32(1 / GAMMA)).astype(np.uint8)
    flat = shown.reshape(-1, *shown.shape[2:])
    for view in flat:
        file = cv2.imencode(".jpg", view, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        view[...] = cv2.imdecode(file, cv2.IMREAD_GRAYSCALE)
    return _with(sweep, shown.astype(np.float32) / 255)


# Motion


def _moved(view: Float32[np.ndarray, "row col"], down: int, right: int) -> Float32[np.ndarray, "row col"]:
    """Returns a view moved by whole pixels; what comes in is a mirror of what went."""
    rows, cols = view.shape
    away = max(abs(down), abs(right))
    wide = np.pad(view, away, mode="reflect")
    return wide[away - down : away - down + rows, away - right : away - right + cols]


def _all_moved(pixels: Pixels, moves: Float[np.ndarray, "slice 2"]) -> Pixels:
    found = [
        [_moved(view, int(down), int(right)) for view in views]
        for views, (down, right) in zip(pixels, moves, strict=True)
    ]
    return np.array(found, np.float32)


def hand_shake(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep by hand: the picture wanders, and some slices are smeared."""
    steps = rng.uniform(0.3, 2.0) * rng.standard_normal((sweep.slices, 2))
    moves = np.clip(np.rint(np.cumsum(steps, axis=0)), -40, 40)
    pixels = _all_moved(sweep.pixels, moves)
    for views in pixels:
        if rng.random() < 0.5:
            length, down = int(rng.integers(2, 9)), rng.random() < 0.5
            smear = np.full((length, 1) if down else (1, length), 1 / length, np.float32)
            for view in views:
                view[...] = cv2.filter2D(view, -1, smear, borderType=cv2.BORDER_REFLECT)
    return _with(sweep, pixels)


def moving_subject(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of a subject that moves through the picture."""
    angle, speed = rng.uniform(0, 2 * np.pi), rng.uniform(0.4, 1.5)
    along = speed * (np.arange(sweep.slices) - sweep.slices / 2)
    moves = np.rint(along[:, None] * np.array([np.sin(angle), np.cos(angle)]))
    return _with(sweep, _all_moved(sweep.pixels, moves))


def replaced_subject(sweep: Sweep, other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep in the middle of which another subject takes the place of the first."""
    at = int(rng.integers(10, sweep.slices - 10))
    sharp = (*(one for one in sweep.sharp if one < at), *(one for one in other.sharp if one >= at))
    return Sweep(np.concatenate([sweep.pixels[:at], other.pixels[at:]]), sharp)


# Scenes


def two_depths(sweep: Sweep, other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of two subjects at two depths beside each other; either is right."""
    pixels = sweep.pixels.copy()
    border = int(pixels.shape[3] * rng.uniform(0.35, 0.65))
    pixels[..., border:] = other.pixels[..., border:]
    return Sweep(pixels, (*sweep.sharp, *other.sharp))


def _plane(sweep: Sweep, texture: Float[np.ndarray, "rows cols"], rng: Rng) -> Sweep:
    """Returns a sweep of a painted plane somewhere on the ladder."""
    camera = CameraModel.pixel3()
    sharp = int(rng.integers(len(camera.grid)))
    size = sweep.pixels.shape[2]
    pixels = plane_stack(
        camera, float(camera.grid.dioptres[sharp]), texture, rng, size, log_uniform(rng, 0.2, 1.0)
    )
    return Sweep(pixels, (sharp,))


def _canvas(sweep: Sweep) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    size = 3 * sweep.pixels.shape[2]
    rows, cols = np.mgrid[:size, :size]
    return rows - size / 2, cols - size / 2


def periodic_texture(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of stripes or checks, whose blurred picture comes back with the contrast reversed."""
    rows, cols = _canvas(sweep)
    angle, period = rng.uniform(0, np.pi), log_uniform(rng, 3.0, 16.0)
    waves = np.sin(2 * np.pi / period * (rows * np.sin(angle) + cols * np.cos(angle)))
    if rng.random() < 0.5:
        waves *= np.sin(2 * np.pi / period * (rows * np.cos(angle) - cols * np.sin(angle)))
    return _plane(sweep, 0.3 * (1 + rng.uniform(0.3, 0.9) * np.sign(waves)), rng)


def smooth_blob(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of something so smooth that defocus hardly changes it; two views still tell."""
    rows, cols = _canvas(sweep)
    texture = np.full(rows.shape, rng.uniform(0.05, 0.3))
    for _ in range(int(rng.integers(1, 4))):
        centre, width = rng.uniform(-50, 50, 2), rng.uniform(12, 40)
        away = ((rows - centre[0]) ** 2 + (cols - centre[1]) ** 2) / width**2
        texture = texture + rng.uniform(0.05, 0.3) * np.exp(-away / 2)
    return _plane(sweep, texture, rng)


def smooth_gradient(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of a shadow's smooth gradient: the same in every slice."""
    size = sweep.pixels.shape[2]
    rows, cols = np.mgrid[:size, :size] / size - 0.5
    angle = rng.uniform(0, 2 * np.pi)
    ramp = rng.uniform(0.15, 0.4) * (
        1 + rng.uniform(0.1, 1.0) * (rows * np.sin(angle) + cols * np.cos(angle))
    )
    return _nothing(sweep, ramp, rng)


def _nothing(sweep: Sweep, picture: Float[np.ndarray, "row col"], rng: Rng) -> Sweep:
    light = np.broadcast_to(picture.astype(np.float32), sweep.pixels.shape)
    return Sweep(np.clip(_shot(light, log_uniform(rng, 0.2, 1.0), 1.2, rng), 0.0, 1.0), ())


def blank_wall(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of a wall with nothing on it."""
    return _nothing(sweep, np.full(sweep.pixels.shape[2:], rng.uniform(0.1, 0.6)), rng)


def noisy_wall(sweep: Sweep, other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of such a wall with a bump of noise along the slices, smooth as a focus peak."""
    wall = blank_wall(sweep, other, rng)
    away = (np.arange(sweep.slices) - rng.uniform(8, sweep.slices - 8)) / rng.uniform(2, 8)
    lifted = log_uniform(rng, 0.005, 0.04) * np.exp(-(away**2) / 2)
    return _with(wall, wall.pixels + _noise(wall.pixels, _each_slice(lifted), rng))


# Order and views


def duplicated(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep in which the camera hands over the same picture for some positions."""
    begin, end = _run(sweep.slices, 4, 12, rng)
    pixels = sweep.pixels.copy()
    pixels[begin:end] = pixels[begin]
    return _with(sweep, pixels)


def missing(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep some pictures of which were dropped and are black."""
    pixels = sweep.pixels.copy()
    pixels[rng.choice(sweep.slices, int(rng.integers(2, 10)), replace=False)] = 0.0
    return _with(sweep, pixels)


def shuffled(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep in a wrong order, as file names without leading zeros have it; or in none."""
    order = np.arange(sweep.slices)
    order = np.array(sorted(order, key=str)) if rng.random() < 0.3 else rng.permutation(order)
    places = np.argsort(order)
    inside = (min(max(round(one), 0), sweep.slices - 1) for one in sweep.sharp)
    return Sweep(sweep.pixels[order], tuple(float(places[one]) for one in inside))


def views_exchanged(sweep: Sweep, _other: Sweep, _rng: Rng) -> Sweep:
    """Returns a sweep with right for left."""
    return _with(sweep, sweep.pixels[:, ::-1])


def views_turned(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep of portrait pictures: disparity runs along the rows."""
    turns = int(rng.choice([1, 3]))
    return _with(sweep, np.ascontiguousarray(np.rot90(sweep.pixels, turns, (2, 3))))


def view_dimmer(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep one view of which gets less light."""
    pixels = sweep.pixels.copy()
    pixels[:, int(rng.integers(2))] *= np.float32(rng.uniform(0.3, 0.8))
    return _with(sweep, pixels)


def told_wrong(sweep: Sweep, _other: Sweep, rng: Rng) -> Sweep:
    """Returns a sweep by a lens that is 12 positions off where it is told to be."""
    off = int(rng.choice([-12, 12]))
    return _with(sweep, sweep.pixels[np.clip(np.arange(sweep.slices) + off, 0, sweep.slices - 1)])
