"""Sweeps as people have them, with where they are truly sharp: what confidence is fitted to and counted on.

A capture is the light that falls on a sensor along a sweep, before noise; a camera's `Look` makes pictures of
it. What happens to cameras happens in between: a stuck lens repeats the light, a stuck driver the picture.

Kinds, each of which yields one to four sweeps of a scene:

* phone/whole, thinned, window, processed, beyond: patches of the simulated phone; fault/<name>: with a fault
  of `lab.fault_table`; phone/shuffled: out of order.
* painted/raw, painted/jpeg: layers painted with leaves, print, noise or photographs, of any size and step.
* microscope/fluorescent, microscope/bright-field; stars.
* frozen/all, frozen/run, frozen/noise, moving, replaced: something wrong with a good sweep.
* negative/bracket, lamp, stuck, wall, noise-bump, gradient, dark, saturated: nothing changes focus.

Places are fractional slice indices and may lie beyond the ends. A step is STEP_PX of blur diameter.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.fft import irfft2, rfft2
from scipy.special import j1

from dioptre.optics import CameraModel, depth_to_blur
from dioptre.pipeline.simulate import read_textures
from dioptre.simulate.capture import RIM, Conditions, draw_place, draw_surfaces, draw_visible, side_motion
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.layout import mean_step
from dioptre.simulate.lens import index_errors, sweep
from dioptre.simulate.light import draw_exposure, draw_steps
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render_stack
from dioptre.simulate.sensor import native_to_pixels, read_native
from dioptre.simulate.texture import dead_leaves, glyphs, log_uniform, photograph, roughness
from lab.degradations import Sweep
from lab.fault_table import FAULTS

Rng = np.random.Generator
Stack = Float32[np.ndarray, "slice view row col"]
Picture = Float32[np.ndarray, "row col"]
Numbers = Float[np.ndarray, " slice"]

STEP_PX: Final = 0.6
NEAR_STEPS: Final = 4.0  # of blur: what a person calls sharp enough
SPARSE: Final = 0.6  # of a slice, tolerated where a slice is more than a step
SHARE: Final = 0.1  # of the picture: what covers as much is a depth of it
PHONE_PX: Final = 128  # rows and columns of the phone's patches
MOST_PIXELS: Final = 1.5e7  # of a sweep
MOST_SLICES: Final = 220
LEVELS_PX: Final = np.concatenate([[0.0, 0.6], np.geomspace(1.2, 140.0, 30)])  # diameters that are rendered
LEAST_DETAIL: Final = 0.03  # deviation of a texture's detail, as a part of its mean
LEAST_VISIBLE: Final = 0.3  # deviation of the sharp picture's detail over that of its noise
OWN_FAULTS: Final = (  # done here, or not to be seen in a whole sweep
    "clean", "beyond", "told-wrong", "duplicated", "shuffled", "replaced-subject", "moving-subject",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class TrueSweep:
    """A sweep, and where it is sharp.

    Attributes:
        pixels: From 0 to 1; two views only of the phone.
        sharp: Places at which a depth that covers a SHARE of the picture is sharpest, the largest one's
            first; beyond the ends where focus lies there, empty if no answer is right.
        blur_per_slice_px: Blur diameter that one slice adds, in the sweep's own pixels.
        kind: See the module.
        clean: Whether nothing is wrong with it and the largest depth is sharp inside.
        where: The patch's place in the phone's frame.
        grid_is_learnaf: Whether it is a whole sweep of the phone, which networks know.
        each: Steps that each slice is off, where its distance to a sharp place does not tell.
    """

    pixels: Stack
    sharp: tuple[float, ...]
    blur_per_slice_px: float
    kind: str
    clean: bool
    where: tuple[float, float] = (0.0, 0.0)
    grid_is_learnaf: bool = False
    each: tuple[float, ...] = ()

    def steps_off(self, answer: float) -> float:
        """Returns how many steps of blur an answer is off; infinity if none is right."""
        if self.each:
            return self.each[min(max(round(answer), 0), len(self.each) - 1)]
        return float(_steps(np.array([answer]), self.sharp, self.blur_per_slice_px)[0])


@dataclass(frozen=True)
class Look:
    """What a camera makes of light: noise, then the processing of a JPEG.

    Attributes:
        shot: Variance of the noise for light 1.
        read: Deviation of the noise in the dark.
        quality: Of JPEG; 0 for raw.
        gamma: Of the tone curve.
        toe: How much of an S the curve is.
        smooth_px: Sigma of the denoiser.
        sharpening: How many times what a blur takes away is added.
        halved: Whether the picture is made half as large.
        levels: Of a raw picture.
    """

    shot: float = 0.0
    read: float = 0.0
    quality: int = 0
    gamma: float = 1.0
    toe: float = 0.0
    smooth_px: float = 0.0
    sharpening: float = 0.0
    halved: bool = False
    levels: int = 4095

    @classmethod
    def draw(cls, rng: Rng, processed: bool, noisy: bool = True) -> "Look":
        """Returns a camera's look; without noise for what has some already."""
        shot, read = (log_uniform(rng, 5e-5, 1e-3), log_uniform(rng, 3e-4, 4e-3)) if noisy else (0.0, 0.0)
        if not processed:
            return cls(shot, read, levels=int(rng.choice([255, 1023, 4095])))
        return cls(
            shot,
            read,
            quality=int(rng.integers(60, 96)),
            gamma=float(rng.uniform(1.8, 2.4)),
            toe=float(rng.uniform(0.0, 0.6)),
            smooth_px=float(max(0.0, rng.uniform(-0.3, 0.8))),
            sharpening=float(max(0.0, rng.uniform(-0.4, 1.2))),
            halved=bool(rng.random() < 0.3),
        )

    def sense(self, light: Stack, rng: Rng) -> Stack:
        """Returns the pictures of some light."""
        return np.array([[self._picture(view, rng) for view in views] for views in light], np.float32)

    def _picture(self, light: Picture, rng: Rng) -> Picture:
        seen = np.clip(light, 0.0, 1.0, dtype=np.float32)
        if self.shot > 2e-3:  # few photons
            seen = (rng.poisson(seen / self.shot) * self.shot).astype(np.float32)
        elif self.shot:
            noise = rng.standard_normal(seen.shape, dtype=np.float32)
            noise *= np.sqrt(np.float32(self.shot) * seen + np.float32(self.read**2))
            seen += noise
        np.clip(seen, 0.0, 1.0, out=seen)
        if not self.quality:
            return np.rint(seen * np.float32(self.levels)) / np.float32(self.levels)
        if self.smooth_px > 0.2:
            seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), self.smooth_px))
        shown = np.asarray(cv2.pow(seen, 1 / self.gamma))
        shown += np.float32(self.toe) * (shown * shown * (3 - 2 * shown) - shown)
        if self.sharpening:
            shown += np.float32(self.sharpening) * (shown - np.asarray(cv2.GaussianBlur(shown, (0, 0), 1.2)))
        if self.halved:
            shown = np.asarray(cv2.resize(shown, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA))
        codes = np.clip(np.rint(255 * shown), 0, 255).astype(np.uint8)
        file = cv2.imencode(".jpg", codes, [cv2.IMWRITE_JPEG_QUALITY, self.quality])[1]
        return np.asarray(cv2.imdecode(file, cv2.IMREAD_GRAYSCALE)).astype(np.float32) / 255


@dataclass(frozen=True, eq=False)
class Capture:
    """A sweep before the sensor.

    Attributes:
        light: Linear, 1 at white.
        sharp: See TrueSweep.
        blur_px: What one slice adds, in the pixels of the picture that comes out.
        kind: See the module.
        sense: What the camera makes of light: (light, generator) -> pixels.
        visible: Whether there is more to focus on than noise.
        where: See TrueSweep.
    """

    light: Stack
    sharp: tuple[float, ...]
    blur_px: float
    kind: str
    sense: Callable[[Stack, Rng], Stack]
    visible: bool = True
    where: tuple[float, float] = (0.0, 0.0)

    @property
    def slices(self) -> int:
        """How many there are."""
        return len(self.light)

    def steps(self, places: Numbers) -> Numbers:
        """Returns how many steps of blur pictures taken at some places are off."""
        return _steps(places, self.sharp, self.blur_px)

    def taken(self, rng: Rng) -> TrueSweep:
        """Returns the sweep as it is."""
        return _sweep(self, self.sense(self.light, rng))


def true_sweeps(seed: int, scene: int) -> Iterator[TrueSweep]:
    """Yields all sweeps of one scene, about 18: the same for the same numbers.

    Args:
        seed: Of everything.
        scene: Which.
    """
    rngs = (np.random.default_rng([seed, scene, part]) for part in range(100))
    phones = _phones(next(rngs))
    yield from _phone_sweeps(phones, next(rngs))
    painted = []
    for _ in range(2):
        rng = next(rngs)
        painted.append(_painted(rng, Plan.draw(rng)))
        yield painted[-1].taken(rng)
    rng = next(rngs)
    good = [one for one in (*phones[:2], *painted) if one.visible and one.slices >= 8]
    if good:
        yield from _frozen(good[int(rng.integers(len(good)))], rng)
        yield _moving(good[int(rng.integers(len(good)))], rng)
    yield _replaced(phones[0], phones[1], rng)
    rng = next(rngs)
    yield (_fluorescent if rng.random() < 0.6 else _bright_field)(rng).taken(rng)
    if rng.random() < 0.6:
        yield _stars(rng).taken(rng)
    yield from _negatives([*phones[:2], *painted], next(rngs))


# Truth


def _steps(places: Numbers, sharp: tuple[float, ...], blur_px: float) -> Numbers:
    """Returns how many steps of blur pictures taken at some places are off."""
    if not sharp:
        return np.full(len(places), np.inf)
    away = np.abs(places[:, None] - np.array(sharp)).min(axis=1)
    tolerated = (away <= SPARSE) & (blur_px > STEP_PX)
    return np.where(tolerated, 0.0, away * blur_px / STEP_PX)


def _sharp_places(places: Float[np.ndarray, "..."], blur_px: float) -> tuple[float, ...]:
    """Returns the places of all that covers a SHARE within NEAR_STEPS, of the largest part first.

    Args:
        places: Where each pixel of the picture is sharp.
        blur_px: What one slice adds.
    """
    flat = np.sort(np.ravel(places)[:: max(1, places.size // 4096)])
    many = max(1, math.ceil(SHARE * len(flat)))
    step = STEP_PX / blur_px  # slices
    first = np.flatnonzero(flat[many - 1 :] - flat[: len(flat) - many + 1] <= NEAR_STEPS * step)
    found = []
    for run in np.split(first, np.flatnonzero(np.diff(first) > 1) + 1):
        if len(run):
            low, high = float(flat[run[0] + many - 1]), float(flat[run[-1]])
            away = np.linspace(-1, 1, 2 * math.ceil(max(0.0, high - low) / (4 * step)) + 1)
            away = away[np.argsort(np.abs(away), kind="stable")] if high > low else np.zeros(1)
            found.append((len(run), (low + high) / 2 + away * (high - low) / 2))
    found.sort(key=lambda one: -one[0])
    return tuple(place for _, some in found for place in some.tolist())


def _sweep(capture: Capture, pixels: Stack, kind: str = "") -> TrueSweep:
    """Returns pictures of a capture with its truth, whether it is clean, and its kind or another one."""
    inside = bool(capture.sharp) and 0 <= capture.sharp[0] <= capture.slices - 1
    clean = inside and capture.visible
    return TrueSweep(pixels, capture.sharp, capture.blur_px, kind or capture.kind, clean, capture.where)


# The phone


def _phones(rng: Rng) -> list[Capture]:
    """Returns two captures of the phone on its ladder and one that is likely to be beyond it."""
    camera = CameraModel.pixel3()
    conditions = Conditions()
    surfaces, device = draw_surfaces(rng, conditions.clutter, count=2), PhoneOptics.draw(rng)
    away = replace(conditions, layout=replace(conditions.layout, beyond=1.0))
    return [_phone(camera, device, surfaces, one, rng) for one in (conditions, conditions, away)]


def _phone(
    camera: CameraModel, device: PhoneOptics, surfaces: list[Picture], conditions: Conditions, rng: Rng
) -> Capture:
    """Returns one capture, as `dioptre.simulate.capture.draw_patch` draws it."""
    at = draw_place(camera, PHONE_PX, rng)
    view = PatchView(PointSpread(camera, device, at), PHONE_PX + 2 * RIM, conditions.breathing)
    focus = sweep(camera, conditions.actuator, device.lens_bias, rng)
    gain, noise = draw_exposure("dark" if rng.random() < 0.3 else "normal", conditions.lighting, rng)
    gains = np.float32(gain) * draw_steps(len(focus), conditions.lighting, rng)
    found = draw_visible(view, surfaces, rng, conditions, gain, noise)
    light = render_stack(found.scene, view, focus, side_motion(len(focus), rng))
    light *= gains[:, None, None, None] * device.shading_within(camera, at, view.size)
    grid, step = camera.grid, mean_step(camera.grid)
    depths = found.depths.astype(np.float64)
    past = np.maximum(depths - grid.dioptres[-1], 0) + np.minimum(depths - grid.dioptres[0], 0)
    places = np.asarray(grid.dioptres_to_index(depths)) + past / step
    places -= float(np.median(index_errors(camera, focus)))
    middle = float(grid.dioptres[len(grid) // 2])
    blur = float(depth_to_blur(camera, middle + step, middle)) * device.blur_gain(1.0)
    rows, cols = camera.frame

    def sense(some: Stack, drawn: Rng) -> Stack:
        return native_to_pixels(read_native(some, noise, drawn))

    return Capture(
        light[..., RIM:-RIM],
        _sharp_places(places, float(blur)),
        float(blur),
        "phone/whole",
        sense,
        found.focusable,
        (at[0] / (cols / 2), at[1] / (rows / 2)),
    )


def _phone_sweeps(phones: list[Capture], rng: Rng) -> Iterator[TrueSweep]:
    """Yields whole sweeps of the phone, parts of them, processed ones, and faulty ones."""
    one, other, away = (replace(each.taken(rng), grid_is_learnaf=True) for each in phones)
    yield one
    yield replace(away, kind="phone/whole" if away.clean else "phone/beyond")
    yield _seen_by(_thinned(one if rng.random() < 0.5 else other, rng), rng)
    yield _seen_by(_window(one if rng.random() < 0.5 else other, rng), rng)
    look = Look.draw(rng, processed=True, noisy=False)
    yield _developed(other, look, rng)
    if rng.random() < 0.3:
        order = rng.permutation(phones[0].slices)
        places = tuple(float(np.argmin(np.abs(order - place))) for place in one.sharp)
        each = tuple(phones[0].steps(order.astype(np.float64)).tolist())
        pixels = one.pixels[order]
        yield replace(one, pixels=pixels, sharp=places, kind="phone/shuffled", clean=False, each=each)
    names = [name for name in FAULTS if name not in OWN_FAULTS]
    for name in rng.choice(names, 2, replace=False):
        rounded = tuple(map(round, one.sharp))
        bad = FAULTS[name].apply(
            Sweep(one.pixels, rounded), Sweep(other.pixels, tuple(map(round, other.sharp))), rng
        )
        sharp = one.sharp if bad.sharp == rounded else tuple(map(float, bad.sharp))
        yield replace(one, pixels=bad.pixels, sharp=sharp, kind=f"fault/{name}", clean=False)


def _part(whole: TrueSweep, begin: int, end: int, stride: int, kind: str) -> TrueSweep:
    """Returns some slices of a sweep, counted anew."""
    pixels = whole.pixels[begin:end:stride]
    sharp = tuple((place - begin) / stride for place in whole.sharp)
    clean = whole.clean and 0 <= sharp[0] <= len(pixels) - 1
    blur = whole.blur_per_slice_px * stride
    return TrueSweep(pixels, sharp, blur, kind, clean, whole.where)


def _thinned(whole: TrueSweep, rng: Rng) -> TrueSweep:
    stride = int(rng.choice([2, 3, 5, 8, 16]))
    return _part(whole, int(rng.integers(stride)), len(whole.pixels), stride, "phone/thinned")


def _window(whole: TrueSweep, rng: Rng) -> TrueSweep:
    length = int(rng.integers(5, 31))
    begin = int(rng.integers(len(whole.pixels) - length + 1))
    if whole.sharp and rng.random() < 0.6:  # focus is inside
        begin = min(max(round(whole.sharp[0]) - int(rng.integers(length)), 0), len(whole.pixels) - length)
    return _part(whole, begin, begin + length, 1, "phone/window")


def _seen_by(some: TrueSweep, rng: Rng) -> TrueSweep:
    """Returns a sweep with both views, or with their mean."""
    return some if rng.random() < 0.5 else replace(some, pixels=some.pixels.mean(axis=1, keepdims=True))


def _developed(whole: TrueSweep, look: Look, rng: Rng) -> TrueSweep:
    """Returns a sweep of processed pictures."""
    blur = whole.blur_per_slice_px / (2 if look.halved else 1)
    pixels = look.sense(whole.pixels, rng)
    known = whole.grid_is_learnaf and not look.halved
    return replace(
        whole, pixels=pixels, blur_per_slice_px=blur, kind="phone/processed", grid_is_learnaf=known
    )


# Painted scenes


@dataclass(frozen=True)
class Plan:
    """How a painted sweep runs.

    Attributes:
        slices: How many.
        blur_px: What one adds.
        rows: Of a picture.
        cols: Of a picture.
        focus: The place of the main depth.
    """

    slices: int
    blur_px: float
    rows: int
    cols: int
    focus: float

    @classmethod
    def draw(
        cls,
        rng: Rng,
        steps_px: tuple[float, float] = (0.12, 4.8),
        most: int = MOST_SLICES,
        beyond: float = 0.12,
    ) -> "Plan":
        """Returns one whose travel shows a change of focus; beyond an end as often as is told."""
        blur = log_uniform(rng, *steps_px)
        slices = min(max(round(log_uniform(rng, 7.0, 80.0) / blur) + 1, 3), most)
        budget = log_uniform(rng, 5e5, MOST_PIXELS) / slices
        side = min(max(math.sqrt(budget), 64.0, (slices - 1) * blur), 1024.0)
        aspect = float(rng.choice([1.0, 1.0, 0.75, 1.33]))
        rows, cols = (4 * round(side * one / 4) for one in (aspect**-0.5, aspect**0.5))
        focus = (slices - 1) * float(rng.uniform(0.06, 0.94))
        if rng.random() < beyond:
            past = float(rng.uniform(1.5, 8.0)) / blur + 1
            focus = -past if rng.random() < 0.5 else slices - 1 + past
        return cls(slices, blur, max(64, rows), max(64, cols), focus)

    @property
    def widest_px(self) -> float:
        """The widest blur of the main depth."""
        return self.blur_px * max(abs(self.focus), abs(self.slices - 1 - self.focus))


@dataclass(frozen=True)
class Spread:
    """A lens's blur.

    Attributes:
        sigma_px: In focus.
        hole: Diameter of the pupil's obstruction over its own.
        soft: Whether blur is a Gaussian's instead of a disc's.
    """

    sigma_px: float
    hole: float = 0.0
    soft: bool = False

    @classmethod
    def draw(cls, rng: Rng) -> "Spread":
        """Returns the blur of some lens."""
        return cls(log_uniform(rng, 0.5, 1.2), soft=bool(rng.random() < 0.3))

    def transfer(self, radial: Float[np.ndarray, "r c"], diameter_px: float) -> Float[np.ndarray, "r c"]:
        """Returns the transfer function at some spatial frequencies, in cycles a pixel."""
        focus = np.exp(-2 * (np.pi * self.sigma_px * radial) ** 2)
        if diameter_px == 0:
            return focus
        if self.soft:
            return focus * np.exp(-2 * (np.pi * diameter_px / 4 * radial) ** 2)
        disc = _disc(radial, diameter_px) - self.hole**2 * _disc(radial, self.hole * diameter_px)
        return focus * disc / (1 - self.hole**2)


def _disc(radial: Float[np.ndarray, "r c"], diameter_px: float) -> Float[np.ndarray, "r c"]:
    angle = np.maximum(np.pi * diameter_px * radial, 1e-6)
    return 2 * j1(angle) / angle


class Blurred:
    """A picture at any blur, mixed from a few that are computed; its border has gone.

    Args:
        picture: With a border.
        spread: The lens's blur.
        border: Pixels that are taken off on every side.
        widest_px: The widest blur that will be asked for.
    """

    def __init__(self, picture: Picture, spread: Spread, border: int, widest_px: float) -> None:
        rows, cols = picture.shape
        radial = np.hypot(np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(cols)[None])
        count = min(int(np.searchsorted(LEVELS_PX, widest_px)) + 2, len(LEVELS_PX))
        waves = rfft2(picture)
        inner = slice(border, rows - border), slice(border, cols - border)
        self.levels = np.array(
            [
                irfft2(waves * spread.transfer(radial, one).astype(np.float32), s=picture.shape)[inner]
                for one in LEVELS_PX[:count].tolist()
            ],
            np.float32,
        )

    def at(self, diameters_px: Float[np.ndarray, " row"]) -> Picture:
        """Returns the picture with a blur for each row; between two levels its variance is linear."""
        squares = LEVELS_PX[: len(self.levels)] ** 2
        wanted = np.clip(diameters_px**2, 0, squares[-1])
        low = np.clip(np.searchsorted(squares, wanted, side="right") - 1, 0, len(squares) - 2)
        part = ((wanted - squares[low]) / (squares[low + 1] - squares[low])).astype(np.float32)[:, None]
        if np.all(low == low[0]):
            below, above = self.levels[low[0]], self.levels[low[0] + 1]
        else:
            row = np.arange(len(low))
            below, above = self.levels[low, row], self.levels[low + 1, row]
        return below + part * (above - below)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A layer of a painted scene, with a border.

    Attributes:
        picture: Its light.
        cover: Where it is, and hides what is behind; None for one whose light is added.
        places: Where each row of it is sharp.
    """

    picture: Picture
    cover: Picture | None
    places: Float[np.ndarray, " row"]


def _rendered(plan: Plan, sheets: list[Sheet], spread: Spread, border: int, motion: "Motion") -> Stack:
    """Returns the light of some sheets, from back to front, along a sweep."""
    rim = motion.rim
    trim = border - rim
    blurs = []
    for sheet in sheets:
        places = sheet.places[trim:-trim]
        ends = np.abs(np.array([[0.0], [plan.slices - 1.0]]) - places)
        widest = float(ends.max()) * plan.blur_px
        light = sheet.picture if sheet.cover is None else sheet.picture * sheet.cover
        cover = None if sheet.cover is None else Blurred(sheet.cover, spread, trim, widest)
        blurs.append((places, Blurred(light, spread, trim, widest), cover))
    out = np.empty((plan.slices, 1, plan.rows, plan.cols), np.float32)
    for at, views in enumerate(out):
        total = np.zeros((plan.rows + 2 * rim, plan.cols + 2 * rim), np.float32)
        for places, light, cover in blurs:
            wide = plan.blur_px * np.abs(at - places)
            if cover is not None:
                total *= 1 - np.clip(cover.at(wide), 0.0, 1.0)
            total += light.at(wide)
        views[0] = motion.seen(total, at)
    return np.maximum(out, 0.0, out=out)


@dataclass(frozen=True, eq=False)
class Motion:
    """How pictures of a sweep lie over each other.

    Attributes:
        scales: Of each slice.
        shifts: Of each slice, down and right.
        rim: Pixels around the picture that may come in.
    """

    scales: Numbers
    shifts: Float[np.ndarray, "slice 2"]
    rim: int

    @classmethod
    def draw(cls, plan: Plan, rng: Rng, held: float = 0.2) -> "Motion":
        """Returns breathing, small misregistration, and as often as is told the drift of a hand."""
        n = plan.slices
        breathing = float(rng.choice([0.0, log_uniform(rng, 1e-3, 0.02)]))
        scales = 1 + breathing * (np.arange(n) / max(n - 1, 1) - 0.5)
        shifts = rng.normal(0, float(rng.choice([0.0, rng.uniform(0.0, 0.6)])), (n, 2))
        if rng.random() < held:
            path = np.cumsum(rng.normal(0, log_uniform(rng, 0.3, 2.0), (n, 2)), axis=0)
            shifts = shifts + np.clip(path - path.mean(axis=0), -14, 14)
        shifts = np.clip(shifts, -16, 16)
        reach = float(np.abs(shifts).max()) + 0.01 * max(plan.rows, plan.cols)
        return cls(scales, shifts, math.ceil(reach) + 5)

    def seen(self, wide: Picture, at: int) -> Picture:
        """Returns what of a picture with its rim a slice shows."""
        rows, cols = (length - 2 * self.rim for length in wide.shape)
        scale, (down, right) = self.scales[at], self.shifts[at]
        if scale == 1 and down == right == 0:
            return wide[self.rim : self.rim + rows, self.rim : self.rim + cols]
        x = self.rim + (cols - 1) / 2 * (1 - 1 / scale) - right
        y = self.rim + (rows - 1) / 2 * (1 - 1 / scale) - down
        matrix = np.array([[1 / scale, 0, x], [0, 1 / scale, y]])
        how = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
        return np.asarray(
            cv2.warpAffine(wide, matrix, (cols, rows), flags=how, borderMode=cv2.BORDER_REFLECT)
        )


def _detail(picture: Picture) -> float:
    """Returns the deviation of a picture's detail of one to three pixels."""
    return float((cv2.GaussianBlur(picture, (0, 0), 1.0) - cv2.GaussianBlur(picture, (0, 0), 2.5)).std())


def _texture(shape: tuple[int, int], rng: Rng) -> Picture:
    """Returns a texture with detail enough to focus on, of mean 1."""
    size = max(shape)
    photographs = list(read_textures("skimage").values())
    texture: Picture
    for _ in range(8):
        drawn = rng.random()
        if drawn < 0.55:
            source = photographs[int(rng.integers(len(photographs)))]
            by = max(float(rng.uniform(0.4, 1.0)), min(1.0, size / min(source.shape)))
            source = np.asarray(cv2.resize(source, None, fx=by, fy=by, interpolation=cv2.INTER_AREA))
            while min(source.shape) < size / 2:
                source = np.pad(source, [(0, length) for length in source.shape], mode="symmetric")
            texture = np.rot90(photograph(source, size, rng), int(rng.integers(4))).astype(np.float32)
        elif drawn < 0.75:
            texture = dead_leaves(
                size, size, rng, 1.5, log_uniform(rng, 15.0, 120.0), log_uniform(rng, 0.01, 0.2)
            )
        elif drawn < 0.9:
            texture = glyphs(size, rng, log_uniform(rng, 10.0, 60.0))
        else:
            texture = roughness(size, rng, log_uniform(rng, 4.0, 100.0), log_uniform(rng, 0.3, 1.0))
        texture = np.ascontiguousarray(texture[: shape[0], : shape[1]], np.float32)
        texture = texture / np.float32(max(float(texture.mean()), 0.01))
        if _detail(texture) >= LEAST_DETAIL:
            break
    return texture


def _blob(shape: tuple[int, int], share: float, rng: Rng) -> Picture:
    """Returns a shape with a smooth outline that covers so much of a picture."""
    knots = int(rng.integers(3, 7))
    hills = cv2.resize(
        rng.standard_normal((knots, knots), dtype=np.float32), shape[::-1], interpolation=cv2.INTER_CUBIC
    )
    return (np.asarray(hills) > np.quantile(hills, 1 - share)).astype(np.float32)


def _gains(slices: int, rng: Rng) -> Numbers:
    """Returns the brightness of each slice: steady, drifting, or stepped as by auto exposure."""
    gains = 1 + rng.choice([0.0, 0.003, 0.015]) * rng.standard_normal(slices)
    drawn = rng.random()
    if drawn < 0.12:
        gains *= np.linspace(1.0, log_uniform(rng, 0.6, 1.7), slices)
    elif drawn < 0.24:
        steps = np.zeros(slices)
        steps[rng.integers(slices, size=3)] = rng.uniform(-0.3, 0.3, 3)
        gains *= np.exp(np.cumsum(steps))
    return gains


def _painted(rng: Rng, plan: Plan) -> Capture:
    """Returns one to three painted layers; a single one may be tilted."""
    count = int(rng.choice([1, 1, 1, 2, 2, 3])) if plan.rows * plan.cols < 500_000 else 1
    motion = Motion.draw(plan, rng)
    places = [plan.focus, *rng.uniform(0, plan.slices - 1, count - 1).tolist()]
    rng.shuffle(places)
    reach = plan.blur_px * max(max(abs(one), abs(plan.slices - 1 - one)) for one in places)
    border = math.ceil(reach / 2) + motion.rim + 6
    shape = (plan.rows + 2 * border, plan.cols + 2 * border)
    sheets, covers = [], [None, *(_blob(shape, float(rng.uniform(0.2, 0.5)), rng) for _ in places[1:])]
    for place, cover in zip(places, covers, strict=True):
        tilt = rng.choice([0.0, 0.0, rng.uniform(2, 40)]) * STEP_PX / plan.blur_px if count == 1 else 0.0
        along = np.linspace(-0.5, 0.5, shape[0]) * tilt * rng.choice([-1, 1])
        grey = np.float32(log_uniform(rng, 0.5, 1.5))
        sheets.append(Sheet(grey * _texture(shape, rng), cover, place + along))
    light = _rendered(plan, sheets, Spread.draw(rng), border, motion)
    inner = slice(border, -border)
    depth = np.broadcast_to(sheets[0].places[:, None], shape).copy()
    for sheet in sheets[1:]:
        assert sheet.cover is not None
        depth[sheet.cover > 0.5] = sheet.places[0]
    sharp = _sharp_places(depth[inner, inner], plan.blur_px)
    return _exposed(plan, light, sharp, rng)


def _exposed(plan: Plan, light: Stack, sharp: tuple[float, ...], rng: Rng) -> Capture:
    """Returns light as bright as a camera's own metering makes it, raw or processed."""
    look = Look.draw(rng, processed=bool(rng.random() < 0.6))
    gain = log_uniform(rng, 0.06, 0.5) / float(light.mean())
    look = replace(look, halved=look.halved and min(plan.rows, plan.cols) >= 128)
    light = light * (gain * _gains(plan.slices, rng)).astype(np.float32)[:, None, None, None]
    at = min(max(round(sharp[0]), 0), plan.slices - 1) if sharp else 0
    picture = light[at, 0]
    noise = math.sqrt(look.shot * float(picture.mean()) + look.read**2)
    visible = _detail(np.minimum(picture, 1)) > LEAST_VISIBLE * noise
    blur = plan.blur_px / (2 if look.halved else 1)
    kind = "painted/jpeg" if look.quality else "painted/raw"
    return Capture(light, sharp, blur, kind, look.sense, visible)


# Microscopes and telescopes


def _structures(shape: tuple[int, int], rng: Rng) -> Picture:
    """Returns spots, filaments and grainy bodies on nothing, of brightness 0 to about 1."""
    rows, cols = shape
    out = np.zeros(shape, np.float32)
    scale = math.sqrt(rows * cols) / 256
    if rng.random() < 0.7:  # filaments
        for _ in range(int(rng.integers(4, 30) * scale)):
            heading = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.15, 60))
            steps = 6 * np.stack([np.cos(heading), np.sin(heading)], axis=1)
            path = rng.uniform(0, [cols, rows]) + np.cumsum(steps, axis=0)
            ink = np.zeros(shape, np.uint8)
            cv2.polylines(ink, [np.rint(16 * path).astype(np.int32)], False, 255, 1, cv2.LINE_AA, 4)
            np.maximum(out, ink.astype(np.float32) * np.float32(rng.uniform(0.2, 0.8) / 255), out=out)
    if rng.random() < 0.7:  # bodies
        grain = roughness(max(shape), rng, 12.0, 0.6)[:rows, :cols]
        for _ in range(int(rng.integers(3, 12) * scale) + 1):
            ink = np.zeros(shape, np.uint8)
            centre, axes = rng.uniform(0, [cols, rows]), rng.uniform(6, 26, 2)
            angle = float(rng.uniform(0, 180))
            cv2.ellipse(ink, np.rint(centre).astype(int).tolist(), np.rint(axes).astype(int).tolist(),
                        angle, 0, 360, 255, -1, cv2.LINE_AA)  # fmt: skip
            out += ink.astype(np.float32) * grain * np.float32(rng.uniform(0.1, 0.5) / 255)
    spots = int(rng.integers(20, 200) * scale**2) + 5
    at = rng.integers(rows, size=spots), rng.integers(cols, size=spots)
    out[at] += rng.uniform(0.5, 4.0, spots).astype(np.float32)
    return out


def _specimen_plan(rng: Rng) -> tuple[Plan, Motion, int]:
    """Returns how a microscope sweeps, and the border that its specimen needs."""
    plan = Plan.draw(rng, (0.15, 3.0), 120, beyond=0.1)
    motion = Motion.draw(plan, rng, held=0.0)
    return plan, motion, math.ceil(plan.widest_px / 2) + motion.rim + 10


def _fluorescent(rng: Rng) -> Capture:
    """Returns a z-stack of bright things in one to four planes, with haze, bleaching and few photons."""
    plan, motion, border = _specimen_plan(rng)
    shape = (plan.rows + 2 * border, plan.cols + 2 * border)
    planes = int(rng.integers(1, 5))
    thick = float(rng.uniform(0, 6)) * STEP_PX / plan.blur_px
    places = plan.focus + np.array([0.0, *rng.normal(0, thick, planes - 1)])
    shares = np.array([1.0, *rng.uniform(0.05, 0.6, planes - 1)])
    sheets = [
        Sheet(np.float32(share) * _structures(shape, rng), None, np.full(shape[0], place))
        for share, place in zip(shares.tolist(), places.tolist(), strict=True)
    ]
    sharpest = np.sum([sheet.picture for sheet in sheets], axis=0)
    haze = np.asarray(cv2.GaussianBlur(sharpest, (0, 0), float(rng.uniform(10, 30))))
    glow = np.float32(rng.uniform(0.0, 2.0)) * haze + np.float32(rng.uniform(0.005, 0.1))
    sheets.append(Sheet(glow.astype(np.float32), None, np.full(shape[0], plan.focus)))
    light = _rendered(
        plan, sheets, Spread(log_uniform(rng, 0.7, 1.4), soft=bool(rng.random() < 0.5)), border, motion
    )
    bleached = np.exp(np.linspace(0, math.log(1 - rng.uniform(0, 0.4)), plan.slices))
    top = float(np.quantile(light[:: max(1, plan.slices // 8)], 0.999))
    light *= (rng.uniform(0.3, 1.0) / max(top, 1e-3) * bleached).astype(np.float32)[:, None, None, None]
    sharp = _sharp_places(np.repeat(places, np.rint(1000 * shares / shares.sum()).astype(int)), plan.blur_px)
    look = Look(log_uniform(rng, 2.1e-3, 0.03), 0.003, levels=int(rng.choice([255, 4095])))
    at = min(max(round(plan.focus), 0), plan.slices - 1)
    noise = math.sqrt(look.shot * float(light[at].mean()) + look.read**2)
    visible = _detail(light[at, 0]) > LEAST_VISIBLE * noise
    return Capture(light, sharp, plan.blur_px, "microscope/fluorescent", look.sense, visible)


def _bright_field(rng: Rng) -> Capture:
    """Returns a z-stack of things that absorb, with a halo that changes its sign at focus."""
    plan, motion, border = _specimen_plan(rng)
    shape = (plan.rows + 2 * border, plan.cols + 2 * border)
    dark = np.minimum(_structures(shape, rng), 1.0) * np.float32(0.6)
    if rng.random() < 0.5:
        dark += np.float32(0.3) * np.clip(1.3 - _texture(shape, rng), 0.0, 1.0)
    dark = np.minimum(dark * np.float32(rng.uniform(0.4, 1.4)), np.float32(0.95))
    trim = border - motion.rim
    blurs = Blurred(dark, Spread(log_uniform(rng, 0.6, 1.2)), trim, plan.widest_px + 6)
    halo = float(rng.uniform(-0.35, 0.35))
    flat = np.float32(rng.uniform(0.4, 0.9))
    light = np.empty((plan.slices, 1, plan.rows, plan.cols), np.float32)
    for at, views in enumerate(light):
        signed = plan.blur_px * (at - plan.focus)
        wide = np.full(plan.rows + 2 * motion.rim, abs(signed))
        absorbed = blurs.at(wide)
        ring = absorbed - blurs.at(np.hypot(wide, 5.0))
        seen = 1 - absorbed + np.float32(halo * signed / (abs(signed) + 2)) * ring
        views[0] = motion.seen(flat * np.maximum(seen, 0).astype(np.float32), at)
    light *= _gains(plan.slices, rng).astype(np.float32)[:, None, None, None]
    look = replace(Look.draw(rng, processed=bool(rng.random() < 0.4)), halved=False)
    at = min(max(round(plan.focus), 0), plan.slices - 1)
    noise = math.sqrt(look.shot * float(light[at].mean()) + look.read**2)
    visible = _detail(light[at, 0]) > LEAST_VISIBLE * noise
    return Capture(light, (plan.focus,), plan.blur_px, "microscope/bright-field", look.sense, visible)


def _stars(rng: Rng) -> Capture:
    """Returns a star field swept through focus by a telescope's focuser."""
    plan = Plan.draw(rng, (0.4, 4.8), 60, beyond=0.1)
    motion = Motion.draw(plan, rng, held=0.3)
    border = math.ceil(plan.widest_px / 2) + motion.rim + 10
    shape = (plan.rows + 2 * border, plan.cols + 2 * border)
    count = int(log_uniform(rng, 3.0, 300.0))
    flux = (1 - rng.random(count)) ** (-1 / rng.uniform(0.7, 1.5))
    sky = np.zeros(shape, np.float32)
    at = tuple(rng.uniform(border, length - border, count) for length in shape)
    at[0][0], at[1][0] = (
        length / 2 + rng.uniform(-20, 20) for length in shape
    )  # one that stays in the picture
    flux[0] = np.quantile(flux, 0.9)
    for down in (0, 1):
        for right in (0, 1):
            corner = tuple(
                np.floor(one).astype(int) + more for one, more in zip(at, (down, right), strict=True)
            )
            weight = np.prod([1 - np.abs(one - whole) for one, whole in zip(at, corner, strict=True)], axis=0)
            np.add.at(sky, corner, (flux * weight).astype(np.float32))
    spread = Spread(log_uniform(rng, 0.9, 2.5), hole=float(rng.choice([0.0, 0.35])))
    light = _rendered(plan, [Sheet(sky, None, np.full(shape[0], plan.focus))], spread, border, motion)
    peaks = np.sort(flux)[::-1] / (2 * np.pi * spread.sigma_px**2)
    white = peaks[min(count - 1, int(rng.choice([0, 1, 3]) * rng.random() * 2))] * rng.uniform(0.9, 2.5)
    light *= (_gains(plan.slices, rng) / white).astype(np.float32)[:, None, None, None]
    light += np.float32(log_uniform(rng, 1e-4, 0.15))  # a sky may be black
    look = Look(
        log_uniform(rng, 1e-5, 4e-4), log_uniform(rng, 5e-4, 4e-3), levels=int(rng.choice([255, 65535]))
    )
    middle = min(max(round(plan.focus), 0), plan.slices - 1)
    noise = math.sqrt(look.shot * float(np.median(light)) + look.read**2)
    visible = float(light[middle].max() - np.median(light[middle])) > 12 * noise
    return Capture(light, (plan.focus,), plan.blur_px, "stars", look.sense, visible)


# Something is wrong


def _frozen(good: Capture, rng: Rng) -> Iterator[TrueSweep]:
    """Yields a sweep all of whose frames are one, and two some of whose frames repeat."""
    pixels = good.sense(good.light, rng)
    still = int(rng.integers(good.slices))
    same = np.repeat(pixels[still : still + 1], good.slices, axis=0)
    yield TrueSweep(same, (), good.blur_px, "frozen/all", False, good.where)
    for fresh in (False, True):
        source = _held(good, rng)
        shown = good.sense(good.light[source], rng) if fresh else pixels[source]
        kind = "frozen/noise" if fresh else "frozen/run"
        each = good.steps(source.astype(np.float64))
        found = [place for one in good.sharp for place in _found_at(source, one, good.blur_px)]
        yield TrueSweep(shown, tuple(found), good.blur_px, kind, False, good.where, each=tuple(each.tolist()))


def _held(good: Capture, rng: Rng) -> Int[np.ndarray, " slice"]:
    """Returns which slice each slice shows: a run of 2 to 12 shows one, at, near or away from focus."""
    length = int(rng.integers(2, min(12, good.slices // 2) + 1))
    focus = round(good.sharp[0]) if good.sharp else good.slices // 2
    where = rng.random()
    first = int(rng.integers(good.slices - length + 1))
    if where < 0.5:
        first = focus - int(rng.integers(length))
    elif where < 0.75:
        first = focus + int(rng.choice([-length - 1, -length, 1, 2, 3]))
    first = min(max(first, 0), good.slices - length)
    source = np.arange(good.slices)
    source[first : first + length] = first if rng.random() < 0.8 else first + length - 1
    return source


def _found_at(source: Int[np.ndarray, " slice"], place: float, blur_px: float) -> list[float]:
    """Returns the slices that show what is sharp at a place; none if that was never shown."""
    if not -0.5 <= place <= len(source) - 0.5:
        return [place]
    away = np.abs(source - place)
    if away.min() > max(SPARSE, NEAR_STEPS * STEP_PX / blur_px):
        return []
    best = np.flatnonzero(away == away.min())
    return [place] if len(best) == 1 and source[best[0]] == best[0] else best.astype(float).tolist()


def _moving(good: Capture, rng: Rng) -> TrueSweep:
    """Returns a sweep of a subject that moves by 0.4 to 3 pixels a slice."""
    rows, cols = good.light.shape[2:]
    speed = min(log_uniform(rng, 0.4, 3.0), max(0.4, 0.8 * min(rows, cols) / good.slices))
    heading = rng.uniform(0, 2 * np.pi)
    light = np.empty_like(good.light)
    for at, views in enumerate(good.light):
        along = speed * (at - good.slices / 2)
        matrix = np.array([[1, 0, along * math.cos(heading)], [0, 1, along * math.sin(heading)]])
        for view, out in zip(views, light[at], strict=True):
            cv2.warpAffine(view, matrix, (cols, rows), out, cv2.INTER_LANCZOS4, cv2.BORDER_REFLECT)
    moved = good.sense(np.maximum(light, 0), rng)
    return replace(_sweep(good, moved, "moving"), clean=False)


def _replaced(first: Capture, second: Capture, rng: Rng) -> TrueSweep:
    """Returns a sweep in the middle of which another subject takes the place of the first."""
    n = first.slices
    at = int(rng.integers(n // 5, n - n // 5))
    pixels = np.concatenate([first.sense(first.light[:at], rng), second.sense(second.light[at:], rng)])
    sharp = [one for one in first.sharp if one < at - 0.5] + [one for one in second.sharp if one >= at - 0.5]
    along = np.arange(n, dtype=np.float64)
    each = np.where(along < at, first.steps(along), second.steps(along))
    return TrueSweep(
        pixels, tuple(sharp), first.blur_px, "replaced", False, first.where, True, tuple(each.tolist())
    )


# Nothing to focus on


def _negatives(captures: list[Capture], rng: Rng) -> Iterator[TrueSweep]:
    """Yields a bracket, a lamp or a stuck lens, and nothing at all."""
    yield _still(captures[int(rng.integers(len(captures)))], "bracket", rng)
    kind = "lamp" if rng.random() < 0.5 else "stuck"
    yield _still(captures[int(rng.integers(len(captures)))], kind, rng)
    yield _nothing(rng)


def _still(capture: Capture, kind: str, rng: Rng) -> TrueSweep:
    """Returns a sweep that never changes focus, sharp or not: a bracket, a dimmed lamp, a stuck lens."""
    at = int(rng.integers(capture.slices))
    if rng.random() < 0.5 and capture.sharp:
        at = min(max(round(capture.sharp[0]), 0), capture.slices - 1)
    shape = capture.light.shape
    n = min(int(log_uniform(rng, 3.5, 61.0)), max(3, int(MOST_PIXELS) // (4 * math.prod(shape[1:]))))
    one = capture.light[at : at + 1] / np.float32(max(float(capture.light[at].mean()), 1e-4))
    along = np.linspace(0, 1, n)
    if kind == "bracket":
        stops = rng.uniform(2, 8) * (along - rng.uniform(0.2, 0.8))
        gains = 0.25 * 2.0 ** (stops if rng.random() < 0.7 else stops[::-1])
    elif kind == "lamp":
        bump = np.exp(-(((along - rng.uniform(0.1, 0.9)) / log_uniform(rng, 0.05, 0.5)) ** 2))
        gains = log_uniform(rng, 0.1, 0.4) * (1 + rng.uniform(-0.8, 1.5) * bump)
    else:
        gains = np.full(n, log_uniform(rng, 0.05, 0.4))
    light = one * gains.astype(np.float32)[:, None, None, None]
    look = Look.draw(rng, processed=kind == "bracket" or bool(rng.random() < 0.5))
    whole = capture.kind.startswith("phone") and rng.random() < 0.5
    pixels = (capture.sense if whole else look.sense)(light, rng)
    return TrueSweep(pixels, (), math.nan, f"negative/{kind}", False, capture.where)


def _nothing(rng: Rng) -> TrueSweep:
    """Returns a sweep of a wall, a shadow, the dark or too much light."""
    kind = str(rng.choice(["wall", "noise-bump", "gradient", "dark", "saturated"]))
    n, size = int(log_uniform(rng, 3.5, 100.0)), int(rng.choice([64, 128, 256]))
    rows, cols = np.mgrid[:size, :size] / size - 0.5
    heading = rng.uniform(0, 2 * np.pi)
    ramp = 1 + rng.uniform(0.0, 0.1) * (rows * np.sin(heading) + cols * np.cos(heading))
    grey = rng.uniform(0.05, 0.6)
    if kind == "gradient":
        ramp = 1 + rng.uniform(0.2, 1.6) * (rows * np.sin(heading) + cols * np.cos(heading))
    elif kind == "dark":
        grey = log_uniform(rng, 1e-5, 2e-3)
    elif kind == "saturated":
        ramp, grey = 1 + 0.3 * rng.random() * rows, rng.uniform(1.2, 4.0)
    light = np.repeat((grey * ramp).astype(np.float32)[None, None], n, axis=0)
    light = light * _gains(n, rng).astype(np.float32)[:, None, None, None]
    pixels = Look.draw(rng, processed=bool(rng.random() < 0.5)).sense(light, rng)
    if kind == "noise-bump":
        bump = np.exp(-(((np.arange(n) / n - rng.uniform(0.1, 0.9)) / rng.uniform(0.05, 0.3)) ** 2))
        noise = rng.standard_normal(pixels.shape, dtype=np.float32)
        noise *= (log_uniform(rng, 0.004, 0.04) * bump).astype(np.float32)[:, None, None, None]
        pixels = np.clip(pixels + noise, 0.0, 1.0)
    return TrueSweep(pixels, (), math.nan, f"negative/{kind}", False)
