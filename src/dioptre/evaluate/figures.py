"""Pictures of results. The only door to matplotlib, which the extra `figures` brings.

Figures are made without pyplot: nothing global, no window, no display needed.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Shaped

from dioptre.confidence.reasons import State
from dioptre.errors import MissingExtraError
from dioptre.evaluate.calibration_metrics import Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414  # handed on
    from matplotlib.figure import Figure as Figure  # noqa: PLC0414

INK, CHOSEN, UNCERTAIN, FAILED = "#20435c", "#d95f02", "#f2c100", "#a0a0a0"
# Colours of Okabe and Ito, which colour-blind readers tell apart; styles and markers for greyscale.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a6d3b")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
ENOUGH = 10  # answers of which a share is drawn
PRINTED: Any = {"svg.hashsalt": "dioptre"}  # the same figure is the same file


def new_figure(width: float, height: float) -> "Figure":
    """Returns an empty figure of so many inches; a missing matplotlib is named with its remedy."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("drawing needs matplotlib: pip install 'dioptre[figures]'") from None

    class ShownFigure(Figure):
        """A figure that notebooks show, whatever they have been told about matplotlib."""

        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=80)
            return file.getvalue()

    return ShownFigure(figsize=(width, height), layout="constrained")


def colour_of(state: State) -> str:
    """Returns the colour of an answer: amber where it is uncertain, grey where there is none."""
    return {State.FOCUSED: CHOSEN, State.UNCERTAIN: UNCERTAIN, State.FAILED: FAILED}[state]


def focus_curve(
    scores: Float[np.ndarray, " n"],
    index: int,
    position: float,
    state: State,
    pictures: Shaped[np.ndarray, "n row col"],
    names: Sequence[str],
    title: str,
    axis: Float[np.ndarray, " n"] | None = None,
    axis_label: str = "slice",
) -> "Figure":
    """Returns the focus curve with the chosen slice, over thumbnails of it and its neighbours.

    Args:
        scores: A score for each slice.
        index: The chosen slice.
        position: The peak between slices.
        state: Whether the choice can be trusted; an uncertain one is drawn in amber, a failed one in grey.
        pictures: What each slice shows, cropped to the region that decided.
        names: What to call each slice.
        title: What stands above the curve.
        axis: Position of each slice, rising or falling; slice numbers by default.
        axis_label: What the positions are, with their unit.
    """
    figure = new_figure(7.2, 5.2)
    near = [k for k in (index - 1, index, index + 1) if 0 <= k < len(scores)]
    grid = figure.add_gridspec(2, 3, height_ratios=(1.25, 1))
    curve = figure.add_subplot(grid[0, :])
    x = np.arange(len(scores), dtype=np.float64) if axis is None else axis
    colour = colour_of(state)
    _draw_curve(curve, x, scores, index, float(np.interp(position, np.arange(len(x)), x)), colour)
    curve.set(title=title, xlabel=axis_label, ylabel="score (0 worst, 1 best slice)")
    if axis is None:
        curve.locator_params(axis="x", integer=True)
    low, high = _display_range(pictures[near])
    for column, k in zip(range(3) if len(near) == 3 else (1, 2), near, strict=False):
        thumbnail = figure.add_subplot(grid[1, column])
        thumbnail.imshow(pictures[k], cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        thumbnail.set(xticks=[], yticks=[])
        thumbnail.set_title(names[k] + (" (chosen)" if k == index else ""), fontsize=9)
        for side in thumbnail.spines.values():
            side.set(color=colour if k == index else "#cccccc", linewidth=2.5 if k == index else 1)
    return figure


def _draw_curve(axes: "Axes", x: Any, scores: Any, index: int, at: float, colour: str) -> None:
    finite = np.isfinite(scores)
    low, high = (scores[finite].min(), scores[finite].max()) if finite.any() else (0.0, 1.0)
    heights = np.where(finite, (scores - low) / (high - low if high > low else 1.0), np.nan)
    axes.plot(x, heights, "-o", color=INK, markersize=3.5, linewidth=1.2)
    axes.axvline(at, color=colour, linewidth=1.2)
    axes.plot(x[index], heights[index], "o", color=colour, markersize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def _display_range(pictures: Shaped[np.ndarray, "k row col"]) -> tuple[float, float]:
    """Returns the values shown black and white: all but the outermost thousandths."""
    finite = pictures[np.isfinite(pictures)]
    low, high = np.percentile(finite, (0.1, 99.9)) if finite.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-9))


def field_table(table: Float[np.ndarray, "down across"], title: str) -> "Figure":
    """Returns a picture of a table over the frame, its values written in: rows from the top."""
    figure = new_figure(7.2, 4.8)
    axes = figure.add_subplot()
    image = axes.imshow(table, extent=(-1, 1, 1, -1), aspect=0.75, interpolation="bilinear", cmap="cividis")
    for y, row in zip(np.linspace(-1, 1, len(table)), table, strict=True):
        for x, value in zip(np.linspace(-1, 1, len(row)), row, strict=True):
            axes.text(0.95 * x, 0.95 * y, f"{value:.2f}", ha="center", va="center", color="w", fontsize=8)
    axes.set(title=title, xlabel="x over the frame", ylabel="y over the frame")
    figure.colorbar(image, ax=axes)
    return figure


def reliability_diagram(curves: Mapping[str, Reliability]) -> "Figure":
    """Returns a plot of the share of right answers against confidence; the diagonal is true confidence."""
    figure = new_figure(8.0, 5.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=FAILED, linewidth=1)
    for at, (name, one) in enumerate(curves.items()):
        told = one.count >= ENOUGH
        axes.plot(one.believed[told], one.found[told], marker="o", markersize=3.5, **stroke(at), label=name)
    axes.set(
        xlabel="confidence", ylabel="share that is sharp (at most 2 steps off)", xlim=(0, 1), ylim=(0, 1)
    )
    return finish(figure, axes, beside=True)


def risk_coverage_curves(
    curves: Mapping[str, tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]],
) -> "Figure":
    """Returns the share of misses among accepted answers against how many are accepted, the surest first."""
    figure = new_figure(8.0, 4.6)
    axes = figure.add_subplot()
    for at, (name, (coverage, misses)) in enumerate(curves.items()):
        axes.plot(coverage, misses, **stroke(at), label=name)
    axes.set(
        xlabel="share of answers accepted", ylabel="share of those that are misses (more than 4 steps off)"
    )
    axes.set(xlim=(0, 1), ylim=(0, None))
    return finish(figure, axes, beside=True)


def stroke(at: int) -> dict[str, Any]:
    """Returns the colour and style of the line of this number, as matplotlib's arguments."""
    return {
        "color": COLOURS[at % len(COLOURS)],
        "linestyle": STYLES[at % len(STYLES)],
        "linewidth": 1.3,
    }


def finish(figure: "Figure", axes: "Axes", beside: bool = False) -> "Figure":
    """Returns a figure with its grid and its legend: within the axes, or beside them."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    if beside:
        figure.legend(fontsize=7, loc="outside right upper")
    else:
        axes.legend(fontsize=7)
    return figure


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure; the suffix says which format."""
    figure.savefig(path, dpi=130)


def to_bytes(figure: "Figure", kind: Literal["svg", "png", "jpeg"]) -> bytes:
    """Returns a figure as a file, the same bytes for the same figure."""
    from matplotlib import rc_context  # noqa: PLC0415

    file = BytesIO()
    further: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    if kind == "jpeg":
        further = {"pil_kwargs": {"quality": 82}}
    with rc_context(PRINTED):
        figure.savefig(file, format=kind, dpi=130, **further)
    return file.getvalue()
