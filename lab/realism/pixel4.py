"""Disparity on real dual-pixel pairs, against their defocus maps: sign, and rank correlation.

    python -m lab.realism.pixel4 FOLDER [FIGURE.png]

FOLDER holds `NNN_left.png` and `NNN_right.png` (14-bit codes, black 1024) of a Pixel 4, `NNN_gt.png`, the
relative defocus of the central 1344 x 1008 pixels (0 unknown), and `calibration/white_sheet_left.png` and
`_right.png`, by which the right view is flat-fielded. No picture leaves this script: it prints numbers, and
draws a plot of them.

Patches have 128 pixels, every 64; each has one disparity, and the median of its part of the map. Each method
searches the disparities of a whole grid here, also those that search a small range around zero: what is
measured is matching. A map has few values, one for each thing that was outlined: what varies within a thing
counts against a method.

    all    those whose defocus is known in more than half of their pixels
    in     those that lie in the known map (95 %); others show something else beside it
    sure   these without the 30 % of which the method is least sure
    most   what a disparity without fault would reach: many patches of a map have the same value
"""

import sys
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32
from scipy.ndimage import uniform_filter
from scipy.stats import spearmanr

from dioptre.evaluate.figures import CHOSEN, INK, new_figure, save
from dioptre.methods.calibration import DisparityError, find_calibration
from dioptre.methods.disparity import KINDS
from dioptre.methods.matching import Match
from dioptre.stack import Picture

BLACK, WHITE = 1024.0, 16368.0
CROP = (1008, 1344)  # rows, columns of a map
PATCH, STRIDE = 128, 64
SHEET_PX = 101  # over which the white sheets are averaged
SURER = 0.7
COLOURS = {
    "zncc-disparity": INK,
    "dioptre-zncc-disparity": CHOSEN,
    "ssd-disparity": None,
    "dioptre-ssd-disparity": None,
}  # by method; None for not in the figure
WHICH = ("all", "in", "sure")

Patches = Float32[np.ndarray, "patch row col"]
Numbers = Float[np.ndarray, " patch"]


def read(path: Path) -> Float32[np.ndarray, "row col"]:
    """Returns a picture's codes."""
    codes = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if codes is None:
        raise SystemExit(f"{path} cannot be read")
    return codes.astype(np.float32)


def patches_of(folder: Path, name: str) -> tuple[Patches, Patches, Patches]:
    """Returns the patches of the left view, of the right one flat-fielded, and of the defocus map."""
    sheets, views = (
        [(read(folder / pattern.format(side)) - BLACK) / (WHITE - BLACK) for side in ("left", "right")]
        for pattern in ("calibration/white_sheet_{}.png", f"{name}_{{}}.png")
    )
    left_sheet, right_sheet = (uniform_filter(sheet, SHEET_PX) for sheet in sheets)
    views[1] *= left_sheet / np.maximum(right_sheet, 1e-6)
    top, side = ((length - crop) // 2 for length, crop in zip(views[0].shape, CROP, strict=True))
    left, right = (cut(view[top : top + CROP[0], side : side + CROP[1]]) for view in views)
    return left, right, cut(read(folder / f"{name}_gt.png"))


def cut(picture: Picture) -> Patches:
    """Returns the patches of a picture, row by row."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, (PATCH, PATCH))[::STRIDE, ::STRIDE]
    return np.ascontiguousarray(windows.reshape(-1, PATCH, PATCH))


def rank(one: Numbers, other: Numbers, which: Bool[np.ndarray, " patch"]) -> float:
    """Returns Spearman's correlation of some patches."""
    return float(spearmanr(one[which], other[which]).statistic)


def measure(match: Match, trust: DisparityError, truth: Numbers, known: Numbers) -> list[float]:
    """Returns the rank correlations of all patches, of those inside the map, and of the surer ones."""
    whole = known > 0.95
    deviations = np.sqrt(match.noise * trust.pixels + match.disagreement**2)
    sure = whole & (deviations <= np.quantile(deviations[whole], SURER))
    return [rank(match.shifts, truth, which) for which in (known > 0.5, whole, sure)]


def main() -> None:
    """Prints the table."""
    folder, table = Path(sys.argv[1]), find_calibration("center")
    names = sorted(path.name[:-9] for path in folder.glob("*_left.png"))
    figure, rng = new_figure(3.1 * len(names), 3.2), np.random.default_rng(0)
    print(f"{'':<26}" + "".join(f"{name:>20}{'':<4}" for name in (*names, "median")))
    print(f"{'':<26}" + "".join(f"{which:>8}" for _ in (*names, "median") for which in WHICH))
    found: dict[str, list[list[float]]] = {key: [] for key in (*COLOURS, "most")}
    for at, name in enumerate(names):
        left, right, defocus = patches_of(folder, name)
        known = np.asarray(np.mean(defocus > 0, axis=(1, 2), dtype=np.float64))
        truth = np.array([float(np.median(one[one > 0])) if (one > 0).any() else np.nan for one in defocus])
        axes = figure.add_subplot(1, len(names), at + 1)
        for key, colour in COLOURS.items():
            match = KINDS[key].match(left, right, table.reach)
            found[key].append(measure(match, table.fit_of(key).trust, truth, known))
            if colour is not None:
                axes.plot(truth[known > 0.5], match.shifts[known > 0.5], ".", color=colour, ms=3, label=key)
        jitter = truth + 1e-3 * rng.standard_normal(len(truth))
        found["most"].append([rank(jitter, truth, known > 0.5), rank(jitter, truth, known > 0.95), np.nan])
        axes.set(title=f"pair {name}", xlabel="defocus map", ylabel="disparity (px)" if at == 0 else "")
        axes.grid(alpha=0.25)
        if at == 0:
            axes.legend(markerscale=3, fontsize=7)
    for key, values in found.items():
        row = [*values, np.median(values, axis=0).tolist()]
        print(f"{key:<26}" + "".join(f"{value:>8.3f}" for one in row for value in one))
    if len(sys.argv) > 2:
        save(figure, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
