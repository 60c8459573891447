"""The self-check of a store: whether units, order and axes of what was imported are right.

A contrast measure needs no labels. Where it finds the sharpest slice of a patch, the **peak**, must therefore
be near the label, whoever made it: a wrong depth unit, slices in the wrong order, or pictures read with too
few bits show in how the two differ. Errors are peak minus label, in indices, positive towards near.
Disparities are pixels for each index that a slice is nearer than the peak, positive along the columns as
dioptre.stack has it.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.ndimage import gaussian_filter1d

from dioptre.dataset.store import SOURCES, PatchStore, open_patches
from dioptre.errors import InputError
from dioptre.methods import best_index, scores
from dioptre.stack import LEFT, RIGHT

METHOD = "local-norm-dist-sq-4"
MOST_PATCHES = 1200  # that are looked at, however many captures there are
BATCH = 32
FEW_PATCHES = 20  # too few to judge by
BIAS = 2.0  # indices by which peaks may be off in the middle
FAR_OFF = 6.0  # an error of more indices is no worse: it is a patch without texture, or with several depths
BETTER = (
    0.6  # another reading of the labels fits plainly better if it leaves less than this part of the error
)
SURE = 4.0  # standard errors that make a disparity certain
AWAY = (0.15, 0.25)  # parts of the ladder away from the peak at which views are compared
CODE_PATCHES = 200  # whose bare codes are looked at
CODE_SLICES = 6
CODES = 65535.0  # the largest code there is
QUARTERS = 4  # upsampled codes come in quarters
EIGHT_BITS = 255
SCALES = np.geomspace(0.2, 5.0, 163)  # of the labels' dioptres, by 2 per cent
FEWEST_LEVELS = 300  # more steps between black and white than 8 bits have
DARK = 0.05  # of the range from black to white: somewhere in a store it is darker than this
CLIPPED = 0.25  # of all codes at or below black are too many, even in the dark

Patches = Int[np.ndarray, " patch"]  # rows of the table, or an index for each
Errors = Float[np.ndarray, " patch"]


@dataclass(frozen=True)
class CaptureCheck:
    """How far the peaks of one capture are from its labels.

    Attributes:
        capture: Its name.
        patches: How many patches were looked at.
        bias: Median error.
        spread: Deviation of the errors, from their median absolute deviation.
    """

    capture: str
    patches: int
    bias: float
    spread: float


@dataclass(frozen=True)
class Report:
    """What the self-check saw.

    Attributes:
        path: The store.
        patches: How many patches it has.
        sampled: How many were looked at.
        bias: Median error over all of them.
        spread: Deviation of the errors, from their median absolute deviation.
        slope: Indices of peak for each index of label; 0 if all labels are the same.
        correlation: Of peaks and labels; 0 if either are all the same.
        captures: Each capture by itself.
        histogram: How many patches of the store have each label.
        kept: For each split the fraction of patches that an import kept, and the paper's; empty if not told.
        misfit: Mean absolute error, where more than FAR_OFF counts as that.
        misfit_shifted: The same, were the labels off by `bias` throughout.
        misfit_reversed: The same, were the labels counted from the other end.
        min_depth_m: Distance of the depth code 0 with which the labels were made; None if not told.
        rotate: Which way an import turned the pictures; None if not told.
        depth_scale: How many times the labels' dioptres the peaks' are, best; None if that cannot be told.
        misfit_scaled: The misfit, were the labels so many times what they are.
        black: The store's code of black.
        white: The store's code of white.
        darkest: Code that hardly a pixel of the darkest patches is below.
        largest: Largest code.
        clipped: Part of the codes that are at or below black.
        levels: Steps between black and white that the codes distinguish.
        disparity_cols: Disparity along the columns; None for a store with one view.
        disparity_rows: Disparity along the rows, likewise.
        disparity_doubt: Standard error of either.
        flags: What is wrong and what to do about it, a sentence each; none if nothing is.
    """

    path: str
    patches: int
    sampled: int
    bias: float
    spread: float
    slope: float
    correlation: float
    captures: tuple[CaptureCheck, ...]
    histogram: tuple[int, ...]
    kept: dict[str, tuple[float, float | None]]
    misfit: float
    misfit_shifted: float
    misfit_reversed: float
    min_depth_m: float | None
    rotate: str | None
    depth_scale: float | None
    misfit_scaled: float | None
    black: float
    white: float
    darkest: float
    largest: float
    clipped: float
    levels: int
    disparity_cols: float | None
    disparity_rows: float | None
    disparity_doubt: float | None
    flags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain JSON."""
        return asdict(self)


def check(
    path: Path,
    patches_per_capture: int = 24,
    seed: int = 0,
    done: Callable[[int, int], None] | None = None,
) -> Report:
    """Returns what a look at some patches of a store tells about its labels and codes.

    Args:
        path: Any store that `open_patches` opens.
        patches_per_capture: How many patches of a capture are looked at, at most.
        seed: Seed of which.
        done: Called with the number of patches looked at and of all.
    """
    if patches_per_capture < 1:
        raise InputError(f"a check looks at one patch of a capture or more, not {patches_per_capture}")
    store = open_patches(path)
    rows = _sample_rows(store, patches_per_capture, np.random.default_rng(seed))
    peaks, disparities = _look(store, rows, done)
    truth = store.column("truth")[rows]
    rotate = store.manifest.get("config", {}).get("rotate")
    evidence = (
        _compare(store, rows, truth, peaks)
        | _fit_depth(store, truth, peaks)
        | _look_at_codes(store, rows)
        | _summarise_disparities(disparities)
    )
    report = Report(
        path=str(path), patches=len(store), sampled=len(rows), kept=_kept(store), rotate=rotate, **evidence
    )
    return replace(report, flags=flags_of(report))


def _sample_rows(store: PatchStore, patches_per_capture: int, rng: np.random.Generator) -> Patches:
    """Returns some patches of each capture, in the order of the table."""
    captures = np.unique(store.column("capture"), return_inverse=True)[1]
    order = rng.permutation(len(store))
    order = order[np.argsort(captures[order], kind="stable")]  # by capture, shuffled inside
    first = np.searchsorted(captures[order], captures[order])
    chosen = order[np.arange(len(order)) - first < patches_per_capture]
    return np.sort(rng.permutation(chosen)[:MOST_PATCHES])


# Peaks and labels


def _look(
    store: PatchStore, rows: Patches, done: Callable[[int, int], None] | None
) -> tuple[Patches, Float[np.ndarray, "patch 2"] | None]:
    """Returns the peak of each patch and, if there are two views, its disparity along columns and rows."""
    peaks, disparities = [], []
    for start in range(0, len(rows), BATCH):
        stack = store.stack(rows[start : start + BATCH])
        found = best_index(scores(stack, [METHOD])[METHOD])
        peaks.append(found)
        if stack.views == 2:
            disparities += [
                _disparity(pixels, int(peak)) for pixels, peak in zip(stack.pixels, found, strict=True)
            ]
        if done:
            done(start + len(found), len(rows))
    return np.concatenate(peaks), np.array(disparities) if disparities else None


def _compare(store: PatchStore, rows: Patches, truth: Patches, peaks: Patches) -> dict[str, Any]:
    """Returns how the peaks differ from the labels."""
    errors, n = (peaks - truth).astype(np.float64), len(store.format.grid)
    captures = store.column("capture")[rows]
    several = np.ptp(truth) > 0
    return {
        "bias": float(np.median(errors)),
        "spread": _deviation(errors),
        "slope": float(np.polyfit(truth, peaks, 1)[0]) if several else 0.0,
        "correlation": float(np.corrcoef(truth, peaks)[0, 1]) if several and np.ptp(peaks) > 0 else 0.0,
        "captures": tuple(_check_capture(str(one), errors[captures == one]) for one in np.unique(captures)),
        "histogram": tuple(np.bincount(store.column("truth"), minlength=n).tolist()),
        "misfit": _misfit(peaks, truth),
        "misfit_shifted": _misfit(peaks, truth + np.median(errors)),
        "misfit_reversed": _misfit(peaks, n - 1 - truth),
    }


def _check_capture(name: str, errors: Errors) -> CaptureCheck:
    return CaptureCheck(name, len(errors), float(np.median(errors)), _deviation(errors))


def _deviation(values: Errors) -> float:
    """Returns the deviation of values as their median absolute deviation tells it, were they normal."""
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def _misfit(peaks: Patches, labels: Patches | Float[np.ndarray, " patch"]) -> float:
    return float(np.minimum(np.abs(peaks - labels), FAR_OFF).mean())


def _fit_depth(store: PatchStore, truth: Patches, peaks: Patches) -> dict[str, Any]:
    """Returns which multiple of the labels' dioptres fits the peaks best, and how well.

    Depth codes are even in dioptres, so that another distance of code 0 multiplies the dioptres of all labels
    (but for the hundredth of a dioptre at their far end). Labels at the ends of the ladder say too little.
    """
    grid, told = store.format.grid, store.manifest.get("config", {}).get("min_depth_m")
    found: dict[str, Any] = {"min_depth_m": told, "depth_scale": None, "misfit_scaled": None}
    inside = (truth > 0) & (truth < len(grid) - 1)
    if not grid.known or inside.sum() < FEW_PATCHES:
        return found
    dioptres = np.asarray(grid.index_to_dioptres(truth[inside]))
    fits = [_misfit(peaks[inside], np.asarray(grid.dioptres_to_index(scale * dioptres))) for scale in SCALES]
    best = int(np.argmin(fits))
    return found | {"depth_scale": float(SCALES[best]), "misfit_scaled": fits[best]}


def _kept(store: PatchStore) -> dict[str, tuple[float, float | None]]:
    """Returns the fraction of patches that an import kept of each split, and the paper's."""
    splits = store.manifest.get("summary", {}).get("splits", {})
    return {split: (found["fraction"], found["paper"]) for split, found in splits.items()}


# Codes


def _look_at_codes(store: PatchStore, rows: Patches) -> dict[str, Any]:
    """Returns what the bare codes of some slices are like."""
    form = replace(store.format, black=0.0, white=CODES)
    source = SOURCES[store.manifest["kind"]](store.path, form, store.manifest, store.table)
    bare = PatchStore(store.path, form, store.manifest, store.table, source)
    some = rows[np.linspace(0, len(rows) - 1, min(CODE_PATCHES, len(rows))).astype(int)]
    slices = np.unique(np.linspace(0, len(form.grid) - 1, CODE_SLICES).astype(int))
    black, white = store.format.black, store.format.white
    seen = np.zeros(QUARTERS * int(CODES) + 1, dtype=bool)
    low, clipped = [], []
    for row in some:
        quarters = np.rint(bare.stack([int(row)], slices).pixels * np.float32(QUARTERS * CODES)).astype(
            np.int64
        )
        seen[quarters] = True
        low.append(np.percentile(quarters, 0.1) / QUARTERS)
        clipped.append(np.mean(quarters <= QUARTERS * black))
    values = np.flatnonzero(seen)
    steps = np.diff(values)
    return {
        "black": black,
        "white": white,
        "darkest": float(np.percentile(low, 2)),
        "largest": float(values[-1] / QUARTERS),
        "clipped": float(np.mean(clipped)),
        "levels": int((white - black) * QUARTERS / steps.min()) if steps.size else 1,
    }


# Disparity


def _disparity(pixels: Float32[np.ndarray, "slice 2 row col"], peak: int) -> tuple[float, float]:
    """Returns pixels of disparity along columns and rows for each index that a slice is nearer than the peak.

    Away from focus both views are blurred by more than they are apart, so that one step of least squares
    finds how far: right - left = -(d . gradient). A patch without contrast has none.
    """
    n = len(pixels)
    away = sorted({sign * max(1, round(part * n)) for part in AWAY for sign in (-1, 1)})
    found = [np.divide(_shift_between(pixels[peak + k]), k) for k in away if 0 <= peak + k < n]
    cols, rows = np.mean(found, axis=0) if found else (0.0, 0.0)
    return float(cols), float(rows)


def _shift_between(views: Float32[np.ndarray, "2 row col"]) -> Float[np.ndarray, " 2"]:
    """Returns how far the right view is moved against the left, along columns and rows."""
    smooth = gaussian_filter1d(gaussian_filter1d(views.astype(np.float64), 1.5, axis=1), 1.5, axis=2)
    smooth /= np.maximum(smooth.mean(axis=(1, 2), keepdims=True), 1e-9)  # one view may get more of the light
    down, across = np.gradient(smooth.mean(axis=0))
    basis = np.stack([across.ravel(), down.ravel()], axis=1)
    return -np.linalg.lstsq(basis, (smooth[RIGHT] - smooth[LEFT]).ravel(), rcond=None)[0]


def _summarise_disparities(disparities: Float[np.ndarray, "patch 2"] | None) -> dict[str, float | None]:
    if disparities is None:
        return {"disparity_cols": None, "disparity_rows": None, "disparity_doubt": None}
    cols, rows = np.median(disparities, axis=0)
    doubt = max(_deviation(one) for one in disparities.T) / np.sqrt(len(disparities))
    return {"disparity_cols": float(cols), "disparity_rows": float(rows), "disparity_doubt": float(doubt)}


# Flags


def flags_of(report: Report) -> tuple[str, ...]:
    """Returns what is wrong with a store, the likeliest cause first.

    What a cause explains is not said again: pictures that are black have no peaks, and slices in the wrong
    order turn the disparity round.
    """
    unreadable = _flag_bits(report) or _flag_black(report)
    labels = _flag_order(report) or _flag_min_depth(report) or _flag_bias(report)
    disparity = _flag_axis(report) or _flag_sign(report)
    found = (unreadable, *(() if report.clipped > 0.5 else (labels, disparity)), _flag_few(report))
    return tuple(flag for flag in found if flag)


def _flag_bits(report: Report) -> str | None:
    most_below = report.clipped > 0.5 or report.white > 16 * EIGHT_BITS
    if report.largest <= EIGHT_BITS < report.white and most_below:
        return (
            f"the codes reach only {report.largest:g} where white is {report.white:g}: 16-bit pictures were "
            "read as 8-bit ones; read them at their full depth"
        )
    if report.white > EIGHT_BITS and report.levels < FEWEST_LEVELS:
        return (
            f"the codes have {report.levels} levels between black and white, as 8-bit pictures have: import "
            "the original 16-bit files"
        )
    return None


def _flag_black(report: Report) -> str | None:
    if report.clipped > CLIPPED:
        return (
            f"{report.clipped:.0%} of the pixels are at or below black, {report.black:g}: the black level is "
            "too high"
        )
    bright = report.darkest - report.black > DARK * (report.white - report.black)
    if bright and report.sampled >= FEW_PATCHES:
        return (
            f"the darkest pixels have code {report.darkest:.0f}, far above black, {report.black:g}: the "
            "black level is probably too low"
        )
    return None


def _flag_order(report: Report) -> str | None:
    if report.misfit_reversed < BETTER * report.misfit:
        return (
            f"the sharpest slices agree with the labels counted from the other end (off by "
            f"{report.misfit_reversed:.1f} instead of {report.misfit:.1f} indices): the slices are in "
            "reverse order; index 0 must be the far end"
        )
    return None


def _flag_min_depth(report: Report) -> str | None:
    if report.depth_scale is None or report.misfit_scaled is None:
        return None
    if abs(report.depth_scale - 1) < 0.1:
        return None
    if report.misfit_scaled > min(BETTER * report.misfit, report.misfit_shifted):
        return None
    told = "" if report.min_depth_m is None else f", as --min-depth {report.min_depth_m:g} makes them"
    fits = (
        f"divide the depths by {report.depth_scale:.2g}"
        if report.min_depth_m is None
        else f"--min-depth {report.min_depth_m / report.depth_scale:.2g} fits"
    )
    return (
        f"the sharpest slices are at {report.depth_scale:.2g} times the dioptres of the labels{told} "
        f"(off by {report.misfit:.1f} indices, {report.misfit_scaled:.1f} if scaled): {fits}"
    )


def _flag_bias(report: Report) -> str | None:
    doubt = 1.25 * report.spread / np.sqrt(report.sampled)  # standard error of a median
    if abs(report.bias) <= BIAS + 2 * doubt:
        return None
    side = "nearer" if report.bias > 0 else "farther"
    return (
        f"the sharpest slices are {abs(report.bias):.1f} indices {side} than the labels in the middle of all "
        "patches: compare the focus distances and the depth of the labels"
    )


def _flag_axis(report: Report) -> str | None:
    cols, rows, doubt = report.disparity_cols, report.disparity_rows, report.disparity_doubt
    if cols is None or rows is None or doubt is None:
        return None
    if abs(rows) > 2 * abs(cols) and abs(rows) > SURE * doubt:
        return (
            f"the views are apart along the rows ({rows:+.3f} pixels an index, along the columns "
            f"{cols:+.3f}): turn the pictures by a quarter"
        )
    return None


def _flag_sign(report: Report) -> str | None:
    cols, doubt = report.disparity_cols, report.disparity_doubt
    if cols is None or doubt is None:
        return None
    reverse = -1 if _flag_order(report) else 1
    if reverse * cols >= -SURE * doubt:
        return None
    other = {"ccw": "cw", "cw": "ccw"}.get(report.rotate or "")
    remedy = f"turn the pictures the other way, --rotate {other}, or swap" if other else "swap"
    return f"the views are apart the wrong way round ({cols:+.3f} pixels an index): {remedy} left and right"


def _flag_few(report: Report) -> str | None:
    if report.sampled >= FEW_PATCHES:
        return None
    return f"the store has only {report.sampled} patches to judge by, fewer than {FEW_PATCHES}"
