"""From labelled patches to a calibration: the field table, the line, and how far both may be trusted.

The field table is fitted to matches on planes of known distance, as a factory does: those of a simulated
phone, or the patches themselves. A line is fitted to the training patches by RANSAC (paper, "SSD
Disparity"), to those in the central crop where it has no table to divide by. Trust is what makes the labels
of the training patches likeliest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from dioptre import __version__
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.methods import best_index
from dioptre.methods.calibration import (
    CLOSE,
    SUFFIX,
    THIN_LENS,
    Calibration,
    CalibrationLine,
    DisparityError,
    Fit,
    Places,
    bilinear_weights,
)
from dioptre.methods.disparity import KINDS, DisparityKind, posterior_of, views_of
from dioptre.methods.matching import Match, match_zncc
from dioptre.optics import CameraModel, depth_to_disparity
from dioptre.pipeline.predicting import spread
from dioptre.pipeline.settings import CalibrationJob
from dioptre.posterior import Posterior
from dioptre.robust import median_deviation
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.psf import PointSpread
from dioptre.simulate.render import PatchView, render
from dioptre.simulate.scene import FINE, Layer, Scene, fine_size, soften
from dioptre.simulate.sensor import Noise, native_to_pixels, read_native
from dioptre.simulate.texture import dead_leaves
from dioptre.store.labels import CROP
from dioptre.store.manifest import unnamed
from dioptre.store.patches import PatchStore, open_patches

DEVICES: Final[dict[str, Callable[[], PhoneOptics]]] = {
    "center": PhoneOptics.center,
    "left": PhoneOptics.left,
}
TABLE: Final = (7, 9)  # rows and columns of a field table
PLANES_M: Final = (0.15, 0.25, 0.6, 2.0)  # distances of a factory's planes
FOCI: Final = 7  # lens positions at which each plane is seen
SIZE: Final = 128  # of a patch of a plane
BRIGHT: Final = 0.35  # mean signal of a plane, as a part of white
SMOOTH: Final = 0.3  # how much a bend of the field table counts beside what the matches say of a value
WIDER: Final = 1.3  # than the thin lens says: so far disparities are searched before anything is calibrated
TRIALS: Final = 1000  # of RANSAC
INLIER: Final = 0.3  # dioptres
BATCH: Final = 32  # patches at a time
DIGITS: Final = 4  # that mean anything
TURNS: Final = 3
REFITS: Final = 20  # of a bent line
TRUSTS: Final[dict[str, tuple[float, ...]]] = {  # what is tried
    "spread": (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0),
    "growth": (0.0, 0.02, 0.05, 0.08, 0.12, 0.2, 0.3),
    "pixels": (16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0),
}
PLANES: Final = DisparityKind(
    match_zncc, table=True, line=""
)  # what planes are matched by: searched to the full

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Looks:
    """Matched looks at things of known distance.

    Attributes:
        where: Place in the frame.
        focus: Where the lens was, in dioptres.
        depth: Where the thing is, in dioptres.
        match: What matching says.
    """

    where: Places
    focus: Float[np.ndarray, " look"]
    depth: Float[np.ndarray, " look"]
    match: Match

    @property
    def defocus(self) -> Float[np.ndarray, " look"]:
        """1/z - 1/z*: positive for a thing behind the focus plane."""
        return self.focus - self.depth


@dataclass(frozen=True)
class Residuals:
    """What a calibration leaves over.

    Attributes:
        looks: Labelled looks that lines and trusts were fitted to.
        table_px: Root mean square of the planes' disparities about the field table, outliers held.
        inliers: Part of the looks within INLIER of its line, of each method.
        indices: Mean absolute error on these looks, of each method; without a table, in the central crop.
    """

    looks: int
    table_px: float
    inliers: Mapping[str, float]
    indices: Mapping[str, float]


def calibrate(data: Path, out: Path, job: CalibrationJob, done: Progress) -> tuple[Calibration, Residuals]:
    """Writes the calibration of a camera, and returns it and what it leaves over.

    Args:
        data: A store of labelled patches of two views.
        out: The TOML file.
        job: What decides it.
        done: Called with the number of steps done and of all.

    Raises:
        DioptreError: If the store is not one of this camera, or has no patches of the split.
    """
    job.check()
    if out.suffix != SUFFIX:
        raise InputError(f"a calibration is a {SUFFIX} file, not {out}")
    camera = CameraModel.pixel3() if job.camera == "pixel3" else CameraModel.from_toml(job.camera)
    store = open_patches(data)
    _check(store, camera)
    rng, first = np.random.default_rng(job.seed), _uncalibrated(job.name or out.stem, camera)
    rows = store.rows_of(job.split)
    kinds = {key: kind for key, kind in KINDS.items() if kind.network is None or kind.network.there}
    steps = (1 + len(kinds)) * len(range(0, len(rows), BATCH)) + 1
    done(0, steps)
    counted = iter(range(1, steps + 1))

    def moved() -> None:
        done(next(counted), steps)

    whole = look_at_patches(store, rows, job.starts, PLANES, first, moved)
    planes = whole if job.planes == "patches" else look_at_planes(camera, DEVICES[job.planes](), first, rng)
    gain, table_px = fit_table(planes, TABLE)
    found, inliers, indices = replace(first, gain=gain, fits={}), {}, {}
    for key, kind in kinds.items():
        looks = look_at_patches(store, rows, job.starts, kind, found, moved)
        if not kind.table:
            looks = _select(looks, in_crop(looks.where, camera.frame, store.format.size))
        line = found.fits[kind.line].line if kind.line in found.fits else fit_line(kind, looks, found, rng)
        fit = Fit(fit_trust(kind, looks, found, line), line)
        found = replace(found, fits={**found.fits, key: fit})
        inliers[key] = float(np.mean(np.abs(off_line(kind, looks, found, line)) <= INLIER))
        indices[key] = _error(posterior_after(kind, looks, found, fit), looks.depth, found.grid)
    moved()
    left_over = Residuals(len(whole.focus), table_px, inliers, indices)
    about = {"dioptre": __version__, "patches": store.manifest["sha256"], **vars(job), **vars(left_over)}
    with unnamed(out) as partial_file:
        found.to_toml(partial_file, about)
    return found, left_over


def _check(store: PatchStore, camera: CameraModel) -> None:
    if store.format.views != 2:
        raise InputError(f"{store.path} has only green: disparity needs the left and the right view")
    grid = store.format.grid
    if len(grid) != len(camera.grid) or not np.abs(grid.dioptres - camera.grid.dioptres).max() <= CLOSE:
        raise InputError(f"{store.path} has another grid than the camera {camera.name}: give its --camera")
    if store.frame is not None and store.frame != camera.frame:
        (rows, cols), theirs = store.frame, camera.frame
        raise InputError(
            f"{store.path} has frames of {cols} x {rows} pixels, but the camera {camera.name} has "
            f"{theirs[1]} x {theirs[0]}: give its --camera"
        )


def _uncalibrated(name: str, camera: CameraModel) -> Calibration:
    """Returns the calibration of a thin lens, with a margin for real ones."""
    gain = WIDER * float(depth_to_disparity(camera, float(camera.grid.dioptres[-1]), 0.0))
    gain /= float(camera.grid.dioptres[-1])
    table = np.full(TABLE, gain)
    return Calibration(name, camera.grid, camera.frame, table, {})


# Looks


def look_at_patches(
    store: PatchStore,
    rows: Int[np.ndarray, " patch"],
    starts: int,
    kind: DisparityKind,
    calibration: Calibration,
    moved: Callable[[], None],
) -> Looks:
    """Returns matched looks at the patches of a store, each from some lens positions."""
    grid = store.format.grid
    positions = spread(len(grid), starts)
    exact = "depth" in store.table.column_names
    depth = store.column("depth") if exact else grid.dioptres[store.column("truth")]
    found = []
    for begin in range(0, len(rows), BATCH):
        some = rows[begin : begin + BATCH]
        stack = store.stack(some, positions)
        pixels = stack.pixels.reshape(-1, *stack.pixels.shape[2:])
        assert stack.where is not None
        found.append(
            Looks(
                np.repeat(stack.where, len(positions), axis=0),
                np.tile(grid.dioptres[positions], len(some)),
                np.repeat(depth[some], len(positions)),
                kind.find(*views_of(pixels), calibration),
            )
        )
        moved()
    return _joined(found)


def look_at_planes(
    camera: CameraModel, phone: PhoneOptics, calibration: Calibration, rng: np.random.Generator
) -> Looks:
    """Returns matched looks at textured planes that a simulated phone sees all over its frame."""
    rows, cols = camera.frame
    foci = camera.grid.dioptres[spread(len(camera.grid), min(FOCI, len(camera.grid)))]
    reach_x, reach_y = (cols - SIZE) / 2, (rows - SIZE) / 2
    found = []
    for y in np.linspace(-reach_y, reach_y, TABLE[0]):
        for x in np.linspace(-reach_x, reach_x, TABLE[1]):
            view = PatchView(PointSpread(camera, phone, (float(x), float(y))), SIZE + 4)
            for distance_m in PLANES_M:
                depth = 1 / distance_m
                pixels = _plane(view, depth, foci, rng)
                place = np.array([[2 * x / cols, 2 * y / rows]])
                match = PLANES.find(*views_of(pixels), calibration)
                found.append(Looks(np.repeat(place, len(foci), 0), foci, np.full(len(foci), depth), match))
    return _joined(found)


def _plane(
    view: PatchView, depth: float, foci: Float[np.ndarray, " focus"], rng: np.random.Generator
) -> Float[np.ndarray, "focus 2 row col"]:
    margin = view.margin()
    n = fine_size(view.size, margin)
    texture = soften(dead_leaves(n, n, rng, 1.5 * FINE, 30.0 * FINE))
    scene = Scene((Layer((texture * (BRIGHT / texture.mean())).astype(np.float32), depth),), margin)
    radiance = np.stack([render(scene, view, float(focus)) for focus in foci])
    return native_to_pixels(read_native(radiance[..., 2:-2], Noise(), rng))


def in_crop(where: Places, frame: tuple[int, int], size: int) -> Bool[np.ndarray, " look"]:
    """Returns which patches lie wholly inside the central 1.5x crop of the frame."""
    rows, cols = frame
    return (np.abs(where) + size / np.array([cols, rows]) <= 1 / CROP).all(axis=1)


def _joined(parts: list[Looks]) -> Looks:
    where, focus, depth = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("where", "focus", "depth")
    )
    shifts, noise, disagreement, curves = (
        np.concatenate([getattr(part.match, name) for part in parts])
        for name in ("shifts", "noise", "disagreement", "curves")
    )
    first = parts[0].match
    return Looks(where, focus, depth, Match(shifts, noise, disagreement, curves, first.pixels, first.step))


def _select(looks: Looks, which: Bool[np.ndarray, " look"]) -> Looks:
    if not which.any():
        raise InputError("there is no patch inside the central 1.5x crop of the frame, which the line is for")
    match = replace(
        looks.match,
        shifts=looks.match.shifts[which],
        noise=looks.match.noise[which],
        disagreement=looks.match.disagreement[which],
        curves=looks.match.curves[which],
    )
    return Looks(looks.where[which], looks.focus[which], looks.depth[which], match)


# Fits


def fit_table(looks: Looks, shape: tuple[int, int]) -> tuple[Float[np.ndarray, "down across"], float]:
    """Returns the field table that explains disparities, and the deviation it leaves, in pixels.

    Least squares of d = C(x, y) (1/z - 1/z*) through the origin, with a table that bends as little as it
    can where few looks tell, and reweighted so that outliers are held (Huber).
    """
    design = bilinear_weights(looks.where, shape) * looks.defocus[:, None]
    shifts, weights = looks.match.shifts, np.ones(len(looks.focus))
    bends = _bends(shape) * SMOOTH * np.sqrt((design**2).sum() / (shape[0] * shape[1]))
    off, scale = shifts, 0.0
    table = np.zeros(design.shape[1])
    for _ in range(10):
        root = np.sqrt(weights)
        rows = np.concatenate([design * root[:, None], bends])
        table = np.linalg.lstsq(rows, np.concatenate([shifts * root, np.zeros(len(bends))]), rcond=None)[0]
        off = shifts - design @ table
        scale = float(median_deviation(off, 0.0)) + 1e-6
        weights = np.minimum(1.0, 1.5 * scale / np.maximum(np.abs(off), 1e-12))
    held = np.clip(off, -3 * scale, 3 * scale)
    return np.round(table.reshape(shape), DIGITS), float(np.sqrt(np.mean(held**2)))


def _bends(shape: tuple[int, int]) -> Float[np.ndarray, "bend place"]:
    """Returns the second differences of a table along its columns and rows, as rows of a matrix."""
    places = np.arange(shape[0] * shape[1]).reshape(shape)
    found = []
    for lines in (places, places.T):
        for line in lines:
            for a, b, c in zip(line, line[1:], line[2:], strict=False):
                row = np.zeros(places.size)
                row[[a, b, c]] = 1, -2, 1
                found.append(row)
    return np.array(found)


def fit_line(
    kind: DisparityKind, looks: Looks, calibration: Calibration, rng: np.random.Generator
) -> CalibrationLine:
    """Returns the line of a method: a thin lens's, or the best one for labelled looks."""
    if not kind.line:
        return THIN_LENS
    disparity = looks.match.shifts / kind.gain_at(calibration, looks.where)
    return ransac_line(disparity, -looks.defocus, rng, kind.sides)


def ransac_line(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], rng: np.random.Generator, sides: bool = False
) -> CalibrationLine:
    """Returns the line y = slope x + offset with most points within INLIER.

    TRIALS lines through two points each; then least squares on the inliers of the best one. If wanted, the
    line may bend at 0.
    """
    if len(x) < 2:
        raise InputError(f"a line needs two points, not {len(x)}")
    best = np.zeros(len(x), bool)
    for _ in range(TRIALS):
        a, b = rng.choice(len(x), 2, replace=False)
        if abs(x[b] - x[a]) < 1e-6:
            continue
        slope = (y[b] - y[a]) / (x[b] - x[a])
        near = np.abs(y - y[a] - slope * (x - x[a])) <= INLIER
        if near.sum() > best.sum():
            best = near
    if best.sum() < 2 or np.ptp(x[best]) < 1e-6:
        raise InputError("the disparities of the patches do not differ: there is no line through them")
    slope, offset = np.polyfit(x[best], y[best], 1)
    line = CalibrationLine(round(float(slope), DIGITS), round(float(offset), DIGITS))
    return _bent(line, x, y) if sides else line


def _bent(line: CalibrationLine, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> CalibrationLine:
    """Returns a line with another slope below 0: least squares from a line on, with outliers held (Huber)."""
    parts = np.stack([np.maximum(x, 0), np.minimum(x, 0), np.ones(len(x))], axis=1)
    for _ in range(REFITS):
        root = np.sqrt(np.minimum(1.0, INLIER / np.maximum(np.abs(y - line.at(x)), 1e-9)))
        above, below, offset = np.linalg.lstsq(parts * root[:, None], y * root, rcond=None)[0].tolist()
        if above * below <= 0:  # on one side there is nothing to tell it
            return line
        line = CalibrationLine(round(above, DIGITS), round(offset, DIGITS), round(below / above, DIGITS))
    return line


def fit_trust(
    kind: DisparityKind, looks: Looks, calibration: Calibration, line: CalibrationLine = THIN_LENS
) -> DisparityError:
    """Returns the trust under which the labels of looks are likeliest, by turns over grids of values."""
    place = _place_in_posterior(calibration.grid, looks.depth)

    def likelihood(trust: DisparityError) -> float:
        logs = posterior_after(kind, looks, calibration, Fit(trust, line)).logs
        return float(np.take_along_axis(logs, place[:, None], axis=1).mean())

    trust = DisparityError()
    for _ in range(TURNS):
        for name, values in TRUSTS.items():
            trust = max((replace(trust, **{name: value}) for value in values), key=likelihood)
    return trust


def _place_in_posterior(grid: FocusGrid, depth: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Returns the place of depths in a posterior: their nearest position, or an end that they lie beyond."""
    ends = grid.dioptres[[0, -1]] + (grid.dioptres[[0, -2]] - grid.dioptres[[1, -1]]) * np.array([0.5, -0.5])
    return np.where(
        depth < ends[0], 0, np.where(depth > ends[1], len(grid) + 1, 1 + grid.nearest_index(depth))
    )


def posterior_after(kind: DisparityKind, looks: Looks, calibration: Calibration, fit: Fit) -> Posterior:
    """Returns a method's posterior after looks, with this calibration and fit."""
    gain = kind.gain_at(calibration, looks.where)
    return posterior_of(looks.match, fit, calibration.grid, looks.focus, gain)


def off_line(
    kind: DisparityKind, looks: Looks, calibration: Calibration, line: CalibrationLine
) -> Float[np.ndarray, " look"]:
    """Returns the residuals of looks from a line, in dioptres."""
    return -looks.defocus - line.at(looks.match.shifts / kind.gain_at(calibration, looks.where))


def _error(posterior: Posterior, depth: Float[np.ndarray, " look"], grid: FocusGrid) -> float:
    """Returns the mean absolute error of answers, in indices."""
    return float(np.mean(np.abs(best_index(posterior.scores()) - np.asarray(grid.nearest_index(depth)))))
