"""Example patches that lie beside predictions, so that a report can show pictures and needs no store.

Some are spread over light and dark and over the grid; others show what the paper warns of: one whose
contrast curve noise may have misled, in the dark if there is one (`NOISE`), one that focal breathing may have
misled (`BREATHING`), and one of which green cannot tell the side (`AMBIGUOUS`). Which they are follows from
the predictions alone.

Pictures are green, in eight bits as a display shows them, each stack by one range.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped, UInt8

from dioptre.autofocus.search import see_stack
from dioptre.errors import FileError
from dioptre.evaluate.predict import NO_START, in_crop_of
from dioptre.methods import find_method, scores
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack
from dioptre.store.npz import read_bundle
from dioptre.store.parquet import pa, pc
from dioptre.store.patches import PatchStore

ONE_DEPTH = 0.05  # dioptres: how far apart things of one depth are at most
SPREAD, NOISE, BREATHING, AMBIGUOUS = "spread", "noise", "breathing", "ambiguous"  # why a patch is shown
COUNT: Final = 12  # patches that are spread
DARK: Final = 3  # of them at least are dark, as far as there are any
SEEN: Final = 25  # the slice that one-look examples begin with, as in the paper's figure 10
CONTRAST: Final = "local-norm-dist-sq-4"
NOISY: Final = "laplacian-variance"  # a measure that noise misleads
CURVES: Final = (CONTRAST, NOISY)  # are kept
MODEL: Final = "l2a-stack-green"
PAIR: Final = ("l2a-single-green", "l2a-single-dp")  # whose posteriors are kept
DISPLAY_GAMMA: Final = 2.2
MISLED: Final = 2  # indices off
SIDES: Final = (5, 16)  # indices out of focus in which an ambiguous example lies

KINDS: Final = {
    "patch": ("iu", 1), "name": ("U", 1), "why": ("U", 1), "truth": ("iu", 1), "light": ("U", 1),
    "ranges": ("f", 2), "slices": ("u", 4), "views": ("u", 4), "curves": ("f", 3), "posteriors": ("f", 3),
}  # fmt: skip  # of the arrays in the file

Slices = Float32[np.ndarray, "n row col"]
Errors = Float[np.ndarray, " store"]  # for every patch of the store


@dataclass(frozen=True, eq=False)
class ExampleSet:
    """Example patches that lie beside predictions, with what methods answered.

    Attributes:
        patch: Its row in the store.
        name: Of its capture.
        why: Why it is shown.
        truth: The slice that is in focus.
        light: Of the capture.
        ranges: The pixels that are shown black and white.
        slices: The stack, green, as a display shows it.
        views: Left and right at slice SEEN; of a green store the same twice.
        curves: What the measures of CURVES score; NaN if one was not asked.
        posteriors: Of the ambiguous patch, of both networks of PAIR: from each slice, the probability of
            each. Empty if there is none, or they were not asked.
    """

    patch: Int[np.ndarray, " example"]
    name: Shaped[np.ndarray, " example"]
    why: Shaped[np.ndarray, " example"]
    truth: Int[np.ndarray, " example"]
    light: Shaped[np.ndarray, " example"]
    ranges: Float32[np.ndarray, "example 2"]
    slices: UInt8[np.ndarray, "example n row col"]
    views: UInt8[np.ndarray, "example 2 row col"]
    curves: Float32[np.ndarray, "example 2 n"]
    posteriors: Float32[np.ndarray, "pair start n"]

    def __len__(self) -> int:
        return len(self.patch)

    def of(self, why: str) -> list[int]:
        """Returns the examples that are shown for a reason."""
        return np.flatnonzero(self.why == why).tolist()

    def linear(self, example: int) -> Slices:
        """Returns an example's pixels, linear."""
        low, high = self.ranges[example]
        shown = self.slices[example].astype(np.float32) / np.float32(255)
        return low + (high - low) * shown ** np.float32(DISPLAY_GAMMA)

    def write(self, file: BinaryIO) -> None:
        """Writes it, the same bytes for the same examples."""
        np.savez_compressed(file, **{one.name: getattr(self, one.name) for one in fields(self)})


def read_gallery(path: Path) -> ExampleSet | None:
    """Returns the examples in a file; None if there is none, as beside predictions of an earlier dioptre."""
    if not path.exists():
        return None
    gallery = ExampleSet(**read_bundle(path, KINDS))
    fault = _fault(gallery)
    if fault:
        raise FileError(f"{path} holds no example patches: {fault}")
    return gallery


def _fault(gallery: ExampleSet) -> str | None:
    """Returns what makes a set of examples unusable, in a few words; None if nothing does."""
    count, n, *size = gallery.slices.shape
    wanted = {
        "ranges": (count, 2), "views": (count, 2, *size), "curves": (count, 2, n),
        **dict.fromkeys(("patch", "name", "why", "truth", "light"), (count,)),
    }  # fmt: skip
    for name, shape in wanted.items():
        if getattr(gallery, name).shape != shape:
            return f"{name} has shape {getattr(gallery, name).shape}, not {shape}"
    if gallery.posteriors.shape not in ((0, n, n), (len(PAIR), n, n)):
        return f"posteriors has shape {gallery.posteriors.shape}"
    if not min(n, *size) or not ((gallery.truth >= 0) & (gallery.truth < n)).all():
        return f"a truth is not one of {n} slices of {size}"
    low, high = gallery.ranges.astype(np.float64).T
    return None if np.isfinite(low + high).all() else "a range is not finite"


def build_gallery(
    store: PatchStore, chosen: Mapping[int, str], keys: Sequence[str], prior: DepthPrior
) -> ExampleSet:
    """Returns the example set of chosen patches.

    Args:
        store: The patches.
        chosen: Their rows, and why each is shown.
        keys: The methods that predicted.
        prior: Under which they did.
    """
    n, size = len(store.format.grid), store.format.size
    count, seen = len(chosen), min(SEEN, n - 1)
    ranges, curves = np.empty((count, 2), np.float32), np.full((count, 2, n), np.nan, np.float32)
    slices, views = np.empty((count, n, size, size), np.uint8), np.empty((count, 2, size, size), np.uint8)
    posteriors = np.empty((0, n, n), np.float32)
    for at, (row, why) in enumerate(chosen.items()):
        stack = store.stack([row])
        green = stack.pixels[0].mean(axis=1)
        ranges[at] = display_range(green)
        slices[at] = _coded(green, *ranges[at].tolist())
        views[at] = _coded(stack.pixels[0, seen], *ranges[at].tolist())
        for number, key in enumerate(CURVES):
            if key in keys:
                curves[at, number] = scores(stack, [key])[key][0]
        if why == AMBIGUOUS:
            posteriors = np.stack([_posteriors(stack, key, prior) for key in PAIR])
    rows = np.array(list(chosen))
    light = store.column("light")[rows] if "light" in store.table.column_names else np.full(count, "")
    return ExampleSet(
        rows,
        store.column("capture")[rows],
        np.array(list(chosen.values())),
        store.column("truth")[rows],
        light,
        ranges,
        slices,
        views,
        curves,
        posteriors,
    )


def _posteriors(stack: FocalStack, key: str, prior: DepthPrior) -> Float32[np.ndarray, "start n"]:
    """Returns the probability of each position from each slice."""
    starts = np.arange(len(stack.grid))
    posterior = find_method(key).build().posterior(see_stack(stack, 0)(starts, starts[:, None]))
    assert posterior is not None, "a network knows probabilities"
    return posterior.weigh(prior).reachable.astype(np.float32)


# Which patches


def choose_examples(
    store: PatchStore, rows: Int[np.ndarray, " patch"], predictions: Iterable[pa.Table]
) -> dict[int, str]:
    """Returns the patches to be shown and why, the spread ones first, far to near.

    Args:
        store: The patches.
        rows: Those that were predicted.
        predictions: Of them, a table at a time.
    """
    focusable = _flags(store, rows, "focusable")
    rows = rows[focusable] if focusable.any() else rows
    truth = store.column("truth")[rows]
    dark = store.column("light")[rows] == "dark" if "light" in store.table.column_names else truth < 0
    inside = in_crop_of(store)[rows]  # where every method is measured
    telling = _telling(_errors(len(store), predictions), rows, truth, dark, store)
    order = np.lexsort((rows, truth))
    order = order[inside[order]] if inside.sum() >= 2 * COUNT else order
    order = order[~np.isin(order, list(telling.values()))]
    lit, unlit = order[~dark[order]], order[dark[order]]
    few = min(len(unlit), max(DARK, round(COUNT * len(unlit) / max(len(order), 1))))
    places = np.concatenate([lit[_evenly(len(lit), COUNT - few)], unlit[_evenly(len(unlit), few)]])
    some = sorted(places.tolist(), key=lambda at: (truth[at], rows[at]))
    return {int(rows[at]): SPREAD for at in some} | {int(rows[at]): why for why, at in telling.items()}


def _evenly(length: int, count: int) -> Int[np.ndarray, " _"]:
    """Returns places spread evenly over a list; all of a short one."""
    count = min(count, length)
    return ((np.arange(count) + 0.5) * length / max(count, 1)).astype(np.int64)


def _flags(store: PatchStore, rows: Int[np.ndarray, " patch"], name: str) -> Bool[np.ndarray, " patch"]:
    return store.column(name)[rows] if name in store.table.column_names else np.ones(len(rows), bool)


def _of_one_depth(store: PatchStore, rows: Int[np.ndarray, " patch"]) -> Bool[np.ndarray, " patch"]:
    """Returns which patches show one depth, as far as a store knows: two depths mislead without breathing."""
    known = "depth_spread" in store.table.column_names
    return store.column("depth_spread")[rows] <= ONE_DEPTH if known else np.ones(len(rows), bool)


def _errors(patches: int, predictions: Iterable[pa.Table]) -> dict[str, Errors]:
    """Returns the error of the methods that examples are chosen by, for each patch; NaN if not known.

    Of a method with one look, from the start nearest to SEEN.
    """
    found = {key: np.full(patches, np.nan) for key in (*CURVES, MODEL, *PAIR)}
    nearest: int | None = None
    for some in predictions:
        table = some.filter(pc.is_in(some["method"], pa.array(list(found))))
        starts = table["start"].to_numpy().astype(np.int64)
        if nearest is None and (starts != NO_START).any():
            real = np.unique(starts[starts != NO_START])
            nearest = int(real[np.argmin(np.abs(real - SEEN))])
        patch, predicted, truth = (table[name].to_numpy() for name in ("patch", "predicted", "truth"))
        methods = np.array(table["method"].to_pylist(), dtype=np.str_)
        for key, errors in found.items():
            mine = (methods == key) & ((starts == NO_START) | (starts == nearest))
            errors[patch[mine]] = predicted[mine].astype(np.float64) - truth[mine]
    return found


def _telling(
    errors: Mapping[str, Errors],
    rows: Int[np.ndarray, " patch"],
    truth: Int[np.ndarray, " patch"],
    dark: Bool[np.ndarray, " patch"],
    store: PatchStore,
) -> dict[str, int]:
    """Returns the patches that show what the paper warns of, as far as there are any."""
    contrast, noisy, model, green, both = (np.abs(errors[key][rows]) for key in (*CURVES, MODEL, *PAIR))
    away = np.hypot(store.column("where_x")[rows], store.column("where_y")[rows])
    apart = (np.abs(truth - SEEN) >= SIDES[0]) & (np.abs(truth - SEEN) <= SIDES[1])
    wanted = {
        NOISE: (noisy > MISLED, noisy + len(store.format.grid) * dark),
        BREATHING: (~dark & (contrast > MISLED) & ~(model >= contrast) & _of_one_depth(store, rows), away),
        AMBIGUOUS: (apart & (both <= 2) & np.isfinite(green), green),
    }
    found: dict[str, int] = {}
    for why, (fits, how_well) in wanted.items():
        fits[list(found.values())] = False  # each patch is shown for one reason
        if fits.any():
            found[why] = int(np.argmax(np.where(fits, how_well, -1)))
    return found


# Pictures


def display_range(slices: Slices) -> tuple[float, float]:
    """Returns the pixels of a stack that are shown black and white: all but the outermost."""
    low, high = np.nanpercentile(slices, (0.2, 99.8))
    return float(low), float(max(high, low + 1e-9))


def displayed(
    slices: Float32[np.ndarray, "k row col"], low: float, high: float
) -> Float32[np.ndarray, "k row col"]:
    """Returns linear slices as a display shows them, 0 to 1."""
    scaled = np.clip((slices - low) / (high - low), 0, 1)
    return (scaled ** (1 / DISPLAY_GAMMA)).astype(np.float32)


def _coded(
    slices: Float32[np.ndarray, "k row col"], low: float, high: float
) -> UInt8[np.ndarray, "k row col"]:
    return np.rint(255 * displayed(slices, low, high)).astype(np.uint8)
