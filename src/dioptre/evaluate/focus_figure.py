"""The figure of a result: its curve, where it looked, and pieces of the chosen slice at full size."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from dioptre.confidence.reasons import State
from dioptre.evaluate.figures import CHOSEN, COLOURS, INK, colour_of, new_figure
from dioptre.focusing.result import FocusResult, Roi
from dioptre.grid import DIOPTRES, SLICE

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

LIKELY = 0.1  # a candidate that is drawn is as probable at least
OTHERS = tuple(colour for colour in COLOURS if colour != "#d55e00")  # which is all but that of the chosen


def focus_figure(
    result: FocusResult,
    title: str = "",
    names: Sequence[str] = (),
) -> "Figure":
    """Returns the figure of a result.

    Plateau and other candidates are marked, the curves of all regions or depths are drawn, and their places
    on the frame.

    Args:
        result: What `focus` found.
        title: What stands above it; the verdict by default.
        names: What to call the slices.
    """
    figure = new_figure(9.6, 5.6)
    colour = colour_of(result.state)
    grid = figure.add_gridspec(2, 3, height_ratios=(1.2, 1))
    x = result.grid.positions
    shown = result.shown()
    curve = figure.add_subplot(grid[0, :] if shown is None else grid[0, :2])
    _draw_curves(curve, result, x, colour)
    verdict = ", ".join([result.state.value, f"confidence {result.confidence:.2f}", *result.reasons])
    curve.set(xlabel=_axis_label(result.unit), ylabel="score (0 worst, 1 best slice)")
    curve.set_title(title or verdict, parse_math=False)  # names may hold dollars
    if result.unit == SLICE:
        curve.locator_params(axis="x", integer=True)
    if shown is not None:
        _draw_frame(figure.add_subplot(grid[0, 2]), result, colour)
        for column, (k, crop) in enumerate(zip(shown.slices, shown.crops, strict=True)):
            axes = figure.add_subplot(grid[1, column])
            axes.imshow(crop, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            name = names[k] if names else f"slice {k}"
            _frame_axes(axes, name + (" (chosen)" if k == result.index else ""))
            for side in axes.spines.values():
                side.set(
                    color=colour if k == result.index else "#cccccc",
                    linewidth=2.5 if k == result.index else 1,
                )
    return figure


def _heights(scores: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    finite = np.isfinite(scores)
    low, high = (scores[finite].min(), scores[finite].max()) if finite.any() else (0.0, 1.0)
    return np.where(finite, (scores - low) / (high - low if high > low else 1.0), np.nan)


def _draw_curves(axes: "Axes", result: FocusResult, x: Any, colour: str) -> None:
    answered = result.state is not State.FAILED
    if answered and result.verdict.plateau is not None:
        first, last = result.verdict.plateau
        axes.axvspan(x[first], x[last], color=CHOSEN, alpha=0.15, label=f"sharp from slice {first} to {last}")
    for at, depth in enumerate(result.depths):
        if depth.result is not None and depth.roi != result.roi:
            label = f"slice {depth.index}, {depth.share:.0%}"
            axes.plot(
                x, _heights(depth.result.scores), color=OTHERS[at % len(OTHERS)], linewidth=1, label=label
            )
    heights = _heights(result.scores)
    axes.plot(x, heights, "-o", color=INK, markersize=3.5, linewidth=1.4, label=_chosen_label(result))
    for rival in result.verdict.candidates[1:]:
        if answered and rival.probability >= LIKELY and np.isfinite(heights[rival.index]):
            here = (x[rival.index], heights[rival.index])
            axes.plot(*here, "o", color=colour, fillstyle="none", markersize=9)
            axes.annotate(f"or here ({rival.probability:.0%})", here, xytext=(9, 0), fontsize=8,
                          textcoords="offset points", ha="left", va="center")  # fmt: skip
    axes.axvline(result.position, color=colour, linewidth=1.2)
    axes.plot(x[result.index], heights[result.index], "o", color=colour, markersize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)


def _chosen_label(result: FocusResult) -> str | None:
    """Returns the label of the curve that decided; None if it is the only one."""
    if not result.depths:
        return None
    shares = [f", {one.share:.0%}" for one in result.depths if one.roi == result.roi]
    return f"slice {result.index}{shares[0] if shares else ''} (chosen)"


def _axis_label(unit: str) -> str:
    return {SLICE: "slice", DIOPTRES: "focus (dioptres)"}.get(unit, f"position ({unit})")


def _draw_frame(axes: "Axes", result: FocusResult, colour: str) -> None:
    """Draws the frame with the regions on it; that which decided is thick, and the pieces' place dotted."""
    shown = result.shown()
    assert shown is not None
    axes.imshow(shown.frame, cmap="gray", vmin=0, vmax=255)
    boxes: list[tuple[Roi | None, str, float, str]] = [
        (depth.roi, OTHERS[at % len(OTHERS)], 1.0, "-") for at, depth in enumerate(result.depths)
    ]
    boxes += [(result.roi, colour, 2.5, "-"), (shown.place, colour, 1.0, ":")]
    for roi, edge, width, style in boxes:
        if roi is not None:
            x, y, w, h = (value / shown.step for value in roi)
            left, right, top, bottom = x - 0.5, x + w - 0.5, y - 0.5, y + h - 0.5
            corners = [left, right, right, left, left], [top, top, bottom, bottom, top]
            axes.plot(*corners, color="white", linewidth=width + 1.6, alpha=0.7)
            axes.plot(*corners, color=edge, linewidth=width, linestyle=style)
    _frame_axes(axes, "where it looked" if result.roi is not None else "the whole frame")


def _frame_axes(axes: "Axes", title: str) -> None:
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9, parse_math=False)
