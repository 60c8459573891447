"""The figure of a run: where the lens went, how sharp it was there, and what was known after each look.

And, below, what was known in the end of the place of the focus and of the growth of blur together.
"""

from typing import TYPE_CHECKING

import numpy as np

from dioptre.evaluate.figures import CHOSEN, COLOURS, FAILED, INK, colour_of, new_figure
from dioptre.focusing.result import FocusResult
from dioptre.focusing.trace import Act, JointOnLens, Step
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
POSSIBLE = 0.001  # probability of a place, or of a growth: what is less need not be shown
GROWTH_TICKS = 5
GROWTH_MARGIN = 1.5  # times what is possible, on either side
MOST_NAMED = 6  # posteriors; of more, only the first and the last


def run_figure(result: FocusResult, title: str = "") -> "Figure":
    """Returns the figure of a run, positions along the way of the lens, in its own unit.

    Args:
        result: Of a run; its `trace` is drawn.
        title: What was driven.
    """
    joint = result.joint
    figure = new_figure(9.6, 6.4 if joint is None else 8.4)
    heights = (1.3, 1, 1) if joint is None else (1.3, 1, 1, 1.3)
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    way, sharp, sure = panels[:3]
    verdict = ", ".join([result.state.value, f"confidence {result.confidence:.2f}", *result.reasons])
    _draw_way(way, result.trace)
    way.set(title=f"{title}: {verdict}" if title else verdict, ylabel="frame")
    _draw_sharpness(sharp, result.trace)
    sharp.set(ylabel="sharpness")
    _draw_posteriors(sure, result)
    sure.set(ylabel="probability")
    if joint is not None:
        _draw_joint(panels[3], joint, result.trace)
    panels[-1].set(xlabel=f"lens position ({result.unit})", xlim=_limits(result.grid, joint))
    colour = colour_of(result.state)
    for axes in panels:
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


def _limits(grid: FocusGrid, joint: JointOnLens | None) -> tuple[float, float]:
    """Returns the ends of the axis: a position beyond those of the lens, or as far as the focus may be."""
    first, last = sorted(grid.positions[[0, -1]].tolist()) if joint is None else joint.limits
    aside = grid.units_per_index(0) if joint is None else (last - first) / 50
    if joint is not None:
        possible = joint.positions[joint.chances.sum(axis=0) > POSSIBLE]
        first, last = min(first, possible.min(initial=first)), max(last, possible.max(initial=last))
    return first - aside, last + aside


def _draw_posteriors(axes: "Axes", result: FocusResult) -> None:
    known = [(at, one.posterior) for at, one in enumerate(result.trace, 1) if one.posterior is not None]
    for order, (at, posterior) in enumerate(known):
        shade = 0.25 + 0.75 * (order + 1) / len(known)
        named = len(known) <= MOST_NAMED or order in (0, len(known) - 1)
        label = f"after frame {at}" if named else None
        axes.plot(result.grid.positions, posterior[1:-1], color=INK, alpha=shade, label=label)
    if known:
        axes.legend(loc="best", frameon=False)


def _draw_joint(axes: "Axes", joint: JointOnLens, trace: tuple[Step, ...]) -> None:
    """Draws how likely each position is with each growth of blur; what the lens cannot reach is grey."""
    shades = np.sqrt(joint.density)  # so that the less likely is seen, too
    axes.pcolormesh(joint.positions, joint.growths_px, shades, cmap="Blues", shading="nearest")
    first, last = joint.limits
    for beyond in ((joint.positions.min(), first), (last, joint.positions.max())):
        axes.axvspan(*beyond, color=FAILED, alpha=0.2, linewidth=0)
    for one in trace:
        colour, _ = STYLES.get(one.act, OTHER)
        axes.axvline(one.position, color=colour, linewidth=0.8, linestyle=":")
    likely = joint.growths_px[joint.chances.sum(axis=1) > POSSIBLE]
    wider = likely.min() / GROWTH_MARGIN, likely.max() * GROWTH_MARGIN
    low, high = np.clip(wider, joint.growths_px[0], joint.growths_px[-1]).tolist()
    ticks = np.geomspace(low, high, GROWTH_TICKS)
    axes.set(yscale="log", ylim=(low, high), ylabel=f"px of blur a {joint.per}")
    axes.set_yticks(ticks, [f"{one:.3g}" for one in ticks])
    axes.set_yticks([], minor=True)
