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
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.ndimage import gaussian_filter1d

from dioptre.errors import InputError
from dioptre.methods import best_index, scores
from dioptre.methods.matching import shift_by_gradient
from dioptre.robust import median_deviation
from dioptre.stack import LEFT, RIGHT
from dioptre.store.manifest import described_by
from dioptre.store.patches import LARGEST_CODE, PatchStore, open_patches

METHOD = "local-norm-dist-sq-4"
MOST_PATCHES = 1200  # that are looked at, however many captures there are
BATCH = 32
AWAY = (0.15, 0.25)  # parts of the grid away from the peak at which views are compared
CODE_PATCHES, CODE_SLICES = 200, 6  # whose bare codes are looked at
QUARTERS = 4  # upsampled codes come in quarters
EIGHT_BITS = 255
SCALES = np.geomspace(0.2, 5.0, 163)  # of the labels' dioptres, by 2 per cent

Rows = Int[np.ndarray, " patch"]  # of the table
Indices = Int[np.ndarray, " patch"]  # positions of the grid
Errors = Float[np.ndarray, " patch"]


@dataclass(frozen=True)
class FlagLimits:
    """From where on a store is said to be wrong.

    Attributes:
        few_patches: Patches that are too few to judge by.
        bias: Indices by which peaks may be off in the middle.
        far_off: Indices from which on an error is no worse: a patch without texture, or of several depths.
        better: Part of the error that another reading of the labels leaves, if it fits plainly better.
        sure: Standard errors that make a disparity certain.
        fewest_levels: Steps between black and white: 8 bits have fewer.
        dark: Part of the range from black to white: somewhere in a store it is darker than this.
        clipped: Share of codes at or below black that is too large, even in the dark.
    """

    few_patches: int = 20
    bias: float = 2.0
    far_off: float = 6.0
    better: float = 0.6
    sure: float = 4.0
    fewest_levels: int = 300
    dark: float = 0.05
    clipped: float = 0.25


LIMITS: Final = FlagLimits()


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
class StoreCheck:
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
        misfit: Mean absolute error, where more than LIMITS.far_off counts as that.
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
) -> StoreCheck:
    """Returns a comparison of a store's labels and codes with what some of its patches show.

    Args:
        path: Any store that `open_patches` opens.
        patches_per_capture: How many patches of a capture are looked at, at most.
        seed: Seed of which.
        done: Called with the number of patches looked at and of all.
    """
    if patches_per_capture < 1:
        raise InputError(f"a check looks at one patch of a capture or more, not {patches_per_capture}")
    store = open_patches(path)
    sample = store.select(_sample_rows(store, patches_per_capture, np.random.default_rng(seed)))
    peaks, disparities = _look(sample, done)
    evidence = (
        _compare(sample, peaks)
        | _fit_depth(sample, peaks)
        | _look_at_codes(sample)
        | _summarise_disparities(disparities)
    )
    found = StoreCheck(
        path=str(path),
        patches=len(store),
        sampled=len(sample),
        histogram=tuple(np.bincount(store.column("truth"), minlength=len(store.format.grid)).tolist()),
        kept=_kept(store),
        min_depth_m=_config_entry(store, "min_depth_m"),
        rotate=_config_entry(store, "rotate"),
        **evidence,
    )
    return replace(found, flags=flags_of(found))


def _sample_rows(store: PatchStore, patches_per_capture: int, rng: np.random.Generator) -> Rows:
    """Returns some patches of each capture, in the order of the table."""
    captures = np.unique(store.column("capture"), return_inverse=True)[1]
    order = rng.permutation(len(store))
    order = order[np.argsort(captures[order], kind="stable")]  # by capture, shuffled inside
    first = np.searchsorted(captures[order], captures[order])
    chosen = order[np.arange(len(order)) - first < patches_per_capture]
    return np.sort(rng.permutation(chosen)[:MOST_PATCHES])


# Peaks and labels


def _look(
    sample: PatchStore, done: Callable[[int, int], None] | None
) -> tuple[Indices, Float[np.ndarray, "patch 2"] | None]:
    """Returns the peak of each patch and, if there are two views, its disparity along columns and rows."""
    peaks, disparities = [], []
    for start in range(0, len(sample), BATCH):
        stack = sample.stack(range(start, min(start + BATCH, len(sample))))
        found = best_index(scores(stack, [METHOD])[METHOD])
        peaks.append(found)
        if stack.views == 2:
            disparities += [
                _disparity(pixels, int(peak)) for pixels, peak in zip(stack.pixels, found, strict=True)
            ]
        if done:
            done(start + len(found), len(sample))
    return np.concatenate(peaks), np.array(disparities) if disparities else None


def _compare(sample: PatchStore, peaks: Indices) -> dict[str, Any]:
    """Returns statistics of peaks against labels: bias, spread and misfits in indices, and the slope."""
    truth, captures = sample.column("truth"), sample.column("capture")
    errors, n = (peaks - truth).astype(np.float64), len(sample.format.grid)
    several = np.ptp(truth) > 0
    return {
        "bias": float(np.median(errors)),
        "spread": float(median_deviation(errors)),
        "slope": float(np.polyfit(truth, peaks, 1)[0]) if several else 0.0,
        "correlation": float(np.corrcoef(truth, peaks)[0, 1]) if several and np.ptp(peaks) > 0 else 0.0,
        "captures": tuple(_check_capture(str(one), errors[captures == one]) for one in np.unique(captures)),
        "misfit": _misfit(peaks, truth),
        "misfit_shifted": _misfit(peaks, truth + np.median(errors)),
        "misfit_reversed": _misfit(peaks, n - 1 - truth),
    }


def _check_capture(name: str, errors: Errors) -> CaptureCheck:
    return CaptureCheck(name, len(errors), float(np.median(errors)), float(median_deviation(errors)))


def _misfit(peaks: Indices, labels: Indices | Float[np.ndarray, " patch"]) -> float:
    return float(np.minimum(np.abs(peaks - labels), LIMITS.far_off).mean())


def _fit_depth(sample: PatchStore, peaks: Indices) -> dict[str, Any]:
    """Returns the multiple of the labels' dioptres that fits the peaks best, and how well.

    Depth codes are even in dioptres, so that another distance of code 0 multiplies the dioptres of all labels
    (but for the hundredth of a dioptre at their far end). Labels at the ends of the grid say too little.
    """
    grid, truth = sample.format.grid, sample.column("truth")
    found: dict[str, Any] = {"depth_scale": None, "misfit_scaled": None}
    inside = (truth > 0) & (truth < len(grid) - 1)
    if not grid.known or inside.sum() < LIMITS.few_patches:
        return found
    dioptres = np.asarray(grid.index_to_dioptres(truth[inside]))
    fits = [_misfit(peaks[inside], np.asarray(grid.dioptres_to_index(scale * dioptres))) for scale in SCALES]
    best = int(np.argmin(fits))
    return found | {"depth_scale": float(SCALES[best]), "misfit_scaled": fits[best]}


def _kept(store: PatchStore) -> dict[str, tuple[float, float | None]]:
    """Returns the fraction of patches that an import kept of each split, and the paper's."""
    with described_by(store.path):
        splits = store.manifest.get("summary", {}).get("splits", {})
        return {split: (found["fraction"], found["paper"]) for split, found in splits.items()}


def _config_entry(store: PatchStore, name: str) -> Any:
    """Returns an entry of the configuration of a store's making; None if there is none."""
    with described_by(store.path):
        return store.manifest.get("config", {}).get(name)


# Codes


def _look_at_codes(sample: PatchStore) -> dict[str, Any]:
    """Returns statistics of the bare codes of some slices."""
    bare, form = sample.as_codes(), sample.format
    some = np.linspace(0, len(sample) - 1, min(CODE_PATCHES, len(sample))).astype(int)
    slices = np.unique(np.linspace(0, len(form.grid) - 1, CODE_SLICES).astype(int))
    seen = np.zeros(QUARTERS * int(LARGEST_CODE) + 1, dtype=bool)
    low, clipped = [], []
    for row in some.tolist():
        pixels = bare.stack([row], slices).pixels
        quarters = np.rint(pixels * np.float32(QUARTERS * LARGEST_CODE)).astype(np.int64)
        seen[quarters] = True
        low.append(np.percentile(quarters, 0.1) / QUARTERS)
        clipped.append(np.mean(quarters <= QUARTERS * form.black))
    values = np.flatnonzero(seen)
    steps = np.diff(values)
    return {
        "black": form.black,
        "white": form.white,
        "darkest": float(np.percentile(low, 2)),
        "largest": float(values[-1] / QUARTERS),
        "clipped": float(np.mean(clipped)),
        "levels": int((form.white - form.black) * QUARTERS / steps.min()) if steps.size else 1,
    }


# Disparity


def _disparity(pixels: Float32[np.ndarray, "slice 2 row col"], peak: int) -> tuple[float, float]:
    """Returns pixels of disparity along columns and rows for each index that a slice is nearer than the peak.

    Away from focus both views are blurred by more than they are apart, so that their gradient
    tells how far. A patch without contrast has none.
    """
    n = len(pixels)
    away = sorted({sign * max(1, round(part * n)) for part in AWAY for sign in (-1, 1)})
    found = [np.divide(_shift_between(pixels[peak + k]), k) for k in away if 0 <= peak + k < n]
    cols, rows = np.mean(found, axis=0) if found else (0.0, 0.0)
    return float(cols), float(rows)


def _shift_between(views: Float32[np.ndarray, "2 row col"]) -> Float[np.ndarray, " 2"]:
    """Returns the shift of the right view against the left in pixels, along columns and rows."""
    smooth = gaussian_filter1d(gaussian_filter1d(views.astype(np.float64), 1.5, axis=1), 1.5, axis=2)
    smooth /= np.maximum(smooth.mean(axis=(1, 2), keepdims=True), 1e-9)  # one view may get more of the light
    down, across = np.gradient(smooth.mean(axis=0))
    return shift_by_gradient(across[None], down[None], (smooth[RIGHT] - smooth[LEFT])[None])[:, 0]


def _summarise_disparities(disparities: Float[np.ndarray, "patch 2"] | None) -> dict[str, float | None]:
    if disparities is None:
        return {"disparity_cols": None, "disparity_rows": None, "disparity_doubt": None}
    cols, rows = np.median(disparities, axis=0)
    doubt = median_deviation(disparities, axis=0).max() / np.sqrt(len(disparities))
    return {"disparity_cols": float(cols), "disparity_rows": float(rows), "disparity_doubt": float(doubt)}


# Flags


def flags_of(found: StoreCheck) -> tuple[str, ...]:
    """Returns the faults of a store, the likeliest cause first.

    What a cause explains is not said again: pictures that are black have no peaks, and slices in the wrong
    order turn the disparity round.
    """
    unreadable = _flag_bits(found) or _flag_black(found)
    labels = _flag_order(found) or _flag_min_depth(found) or _flag_bias(found)
    disparity = _flag_axis(found) or _flag_sign(found)
    flags = (unreadable, *(() if found.clipped > 0.5 else (labels, disparity)), _flag_few(found))
    return tuple(flag for flag in flags if flag)


def _flag_bits(found: StoreCheck) -> str | None:
    most_below = found.clipped > 0.5 or found.white > 16 * EIGHT_BITS
    if found.largest <= EIGHT_BITS < found.white and most_below:
        return (
            f"the codes reach only {found.largest:g} where white is {found.white:g}: 16-bit pictures were "
            "read as 8-bit ones; read them at their full depth"
        )
    if found.white > EIGHT_BITS and found.levels < LIMITS.fewest_levels:
        return (
            f"the codes have {found.levels} levels between black and white, as 8-bit pictures have: import "
            "the original 16-bit files"
        )
    return None


def _flag_black(found: StoreCheck) -> str | None:
    if found.clipped > LIMITS.clipped:
        return (
            f"{found.clipped:.0%} of the pixels are at or below black, {found.black:g}: the black level is "
            "too high"
        )
    bright = found.darkest - found.black > LIMITS.dark * (found.white - found.black)
    if bright and found.sampled >= LIMITS.few_patches:
        return (
            f"the darkest pixels have code {found.darkest:.0f}, far above black, {found.black:g}: the "
            "black level is probably too low"
        )
    return None


def _flag_order(found: StoreCheck) -> str | None:
    if found.misfit_reversed < LIMITS.better * found.misfit:
        return (
            f"the sharpest slices agree with the labels counted from the other end (off by "
            f"{found.misfit_reversed:.1f} instead of {found.misfit:.1f} indices): the slices are in "
            "reverse order; index 0 must be the far end"
        )
    return None


def _flag_min_depth(found: StoreCheck) -> str | None:
    if found.depth_scale is None or found.misfit_scaled is None:
        return None
    if abs(found.depth_scale - 1) < 0.1:
        return None
    if found.misfit_scaled > min(LIMITS.better * found.misfit, found.misfit_shifted):
        return None
    told = "" if found.min_depth_m is None else f", as --min-depth {found.min_depth_m:g} makes them"
    fits = (
        f"divide the depths by {found.depth_scale:.2g}"
        if found.min_depth_m is None
        else f"--min-depth {found.min_depth_m / found.depth_scale:.2g} fits"
    )
    return (
        f"the sharpest slices are at {found.depth_scale:.2g} times the dioptres of the labels{told} "
        f"(off by {found.misfit:.1f} indices, {found.misfit_scaled:.1f} if scaled): {fits}"
    )


def _flag_bias(found: StoreCheck) -> str | None:
    doubt = 1.25 * found.spread / np.sqrt(found.sampled)  # standard error of a median
    if abs(found.bias) <= LIMITS.bias + 2 * doubt:
        return None
    side = "nearer" if found.bias > 0 else "farther"
    return (
        f"the sharpest slices are {abs(found.bias):.1f} indices {side} than the labels in the middle of all "
        "patches: compare the focus distances and the depth of the labels"
    )


def _flag_axis(found: StoreCheck) -> str | None:
    cols, rows, doubt = found.disparity_cols, found.disparity_rows, found.disparity_doubt
    if cols is None or rows is None or doubt is None:
        return None
    if abs(rows) > 2 * abs(cols) and abs(rows) > LIMITS.sure * doubt:
        return (
            f"the views are apart along the rows ({rows:+.3f} pixels an index, along the columns "
            f"{cols:+.3f}): turn the pictures by a quarter"
        )
    return None


def _flag_sign(found: StoreCheck) -> str | None:
    cols, doubt = found.disparity_cols, found.disparity_doubt
    if cols is None or doubt is None:
        return None
    reverse = -1 if _flag_order(found) else 1
    if reverse * cols >= -LIMITS.sure * doubt:
        return None
    other = {"ccw": "cw", "cw": "ccw"}.get(found.rotate or "")
    remedy = f"turn the pictures the other way, --rotate {other}, or swap" if other else "swap"
    return f"the views are apart the wrong way round ({cols:+.3f} pixels an index): {remedy} left and right"


def _flag_few(found: StoreCheck) -> str | None:
    if found.sampled >= LIMITS.few_patches:
        return None
    return f"the store has only {found.sampled} patches to judge by, fewer than {LIMITS.few_patches}"
