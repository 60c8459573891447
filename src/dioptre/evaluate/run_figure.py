"""The figure of a run: where the lens went, how sharp it was there, and what was believed after each look."""

from typing import TYPE_CHECKING

import numpy as np

from dioptre.evaluate.figures import CHOSEN, COLOURS, FAILED, INK, colour_of, new_figure
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act, Step
from dioptre.grid import FocusGrid

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

STYLES = {
    Act.LOOK: (COLOURS[0], "o"),
    Act.SWEEP: (COLOURS[2], "s"),
    Act.VERIFY: (CHOSEN, "D"),
    Act.RETURN: (FAILED, "<"),
}
OTHER = ("#999999", ".")


def run_figure(result: FocusResult, title: str = "") -> "Figure":
    """Returns the figure of a run, positions along the way of the lens, in its own unit.

    Args:
        result: Of a run; its `trace` is drawn.
        title: What was driven.
    """
    figure = new_figure(9.6, 6.4)
    way, sharp, sure = figure.subplots(3, 1, sharex=True, height_ratios=(1.3, 1, 1))
    verdict = ", ".join([result.state.value, f"confidence {result.confidence:.2f}", *result.reasons])
    _draw_way(way, result.trace)
    way.set(title=f"{title}: {verdict}" if title else verdict, ylabel="frame")
    _draw_sharpness(sharp, result.trace)
    sharp.set(ylabel="sharpness")
    _draw_posteriors(sure, result)
    sure.set(ylabel="probability", xlabel=f"lens position ({result.unit})", xlim=_limits(result.grid))
    colour = colour_of(result.state)
    for axes in (way, sharp, sure):
        axes.axvline(result.position, color=colour, linewidth=1, linestyle="--")
    return figure


def _draw_way(axes: "Axes", trace: tuple[Step, ...]) -> None:
    places, frames = [one.position for one in trace], np.arange(1, len(trace) + 1)
    axes.plot(places, frames, color="#bbbbbb", linewidth=1, zorder=1)
    for act in dict.fromkeys(one.act for one in trace):
        colour, marker = STYLES.get(act, OTHER)
        some = [at for at, one in enumerate(trace) if one.act is act]
        axes.scatter(
            [places[at] for at in some], frames[some], color=colour, marker=marker, label=act.value, zorder=2
        )
    axes.invert_yaxis()
    axes.locator_params(axis="y", integer=True)
    if trace:
        axes.legend(loc="best", frameon=False, ncols=2)


def _draw_sharpness(axes: "Axes", trace: tuple[Step, ...]) -> None:
    scored = sorted((one.position, one.score) for one in trace if one.score is not None)
    if scored:
        places, scores = zip(*scored, strict=True)
        axes.plot(places, scores, color="#bbbbbb", linewidth=1, zorder=1)
    for one in trace:
        if one.score is not None:
            colour, marker = STYLES.get(one.act, OTHER)
            axes.scatter([one.position], [one.score], color=colour, marker=marker, zorder=2)


def _limits(grid: FocusGrid) -> tuple[float, float]:
    """Returns the ends of the axis: a position more on either side than there are."""
    first, last = sorted(grid.positions[[0, -1]].tolist())
    aside = grid.units_per_index(0)
    return first - aside, last + aside


def _draw_posteriors(axes: "Axes", result: FocusResult) -> None:
    known = [(at, one.posterior) for at, one in enumerate(result.trace, 1) if one.posterior is not None]
    for order, (at, posterior) in enumerate(known):
        shade = 0.25 + 0.75 * (order + 1) / len(known)
        axes.plot(result.grid.positions, posterior[1:-1], color=INK, alpha=shade, label=f"after frame {at}")
    if known:
        axes.legend(loc="best", frameon=False)
