"""Curves over many answers: error against the start and against blur, posteriors, frames against error.

The paper's figure 10, and our own. All are drawn from predictions, but for posteriors, which are handed in.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from dioptre.evaluate.figures import CHOSEN, INK, new_figure

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

GREEN, BOTH = "#2e8b57", "#7b3fa0"
STYLES = ("-", "--", "-.", ":")  # beside colours: lines are told apart in greyscale too
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")

Numbers = Float[np.ndarray, " answer"]
Indices = Int[np.ndarray, " answer"]


def two_posteriors(
    green: Float[np.ndarray, " n"], dual_pixel: Float[np.ndarray, " n"], start: int, truth: int
) -> "Figure":
    """Returns figure 10 (left): what one look says of each position, green and with both views.

    Args:
        green: Probability of each position from green alone.
        dual_pixel: From the left and the right view.
        start: The slice that was seen.
        truth: The slice that is in focus.
    """
    figure = new_figure(6.4, 3.6)
    axes = figure.add_subplot()
    axes.plot(green, "-", color=GREEN, label="green (I1)")
    axes.plot(dual_pixel, "--", color=BOTH, label="left and right (D1)")
    axes.axvline(start, color=CHOSEN, linewidth=1, label=f"seen: {start}")
    axes.axvline(truth, color=INK, linewidth=1, linestyle=":", label=f"in focus: {truth}")
    axes.set(xlabel="focal index", ylabel="probability", ylim=(0, None))
    return _finish(figure, axes)


def answers_by_start(answers: Mapping[str, Int[np.ndarray, " n"]], truth: int, positions: int) -> "Figure":
    """Returns figure 10 (right): the answer for each start of one patch, and the mirrored index.

    The mirrored index, as far on the other side of the start as the truth is, has the same blur.
    """
    figure = new_figure(6.4, 3.6)
    axes = figure.add_subplot()
    starts = np.arange(positions)
    mirrored = 2 * starts - truth
    inside = (mirrored >= 0) & (mirrored < positions)
    axes.axhline(truth, color=INK, linewidth=1, label="in focus")
    axes.plot(starts[inside], mirrored[inside], ":", color=INK, linewidth=1, label="mirrored")
    for at, (name, answer) in enumerate(answers.items()):
        axes.plot(starts, answer, MARKERS[at], markersize=3.5, label=name)
    axes.set(xlabel="slice that is seen", ylabel="answer", ylim=(-1, positions))
    return _finish(figure, axes)


def error_by_start(errors: Mapping[str, tuple[Indices, Numbers]], positions: int) -> "Figure":
    """Returns the mean absolute error by the slice that is seen first.

    Args:
        errors: For each method, the start and the error of each answer.
        positions: Of the ladder.
    """
    figure = new_figure(6.4, 3.8)
    axes = figure.add_subplot()
    for at, (name, (starts, error)) in enumerate(errors.items()):
        centres, means = binned_mean(starts.astype(np.float64), np.abs(error), np.arange(positions + 1) - 0.5)
        axes.plot(centres, means, STYLES[at % len(STYLES)], label=name)
    axes.set(xlabel="slice that is seen first", ylabel="mean absolute error, indices", ylim=(0, None))
    return _finish(figure, axes)


def error_by_blur(errors: Mapping[str, tuple[Numbers, Numbers]], most: int) -> "Figure":
    """Returns the mean absolute error by how far out of focus the first look is.

    Args:
        errors: For each method, how many indices nearer than the focus the lens was, and the error.
        most: How many indices are drawn on either side.
    """
    figure = new_figure(6.4, 3.8)
    axes = figure.add_subplot()
    for at, (name, (away, error)) in enumerate(errors.items()):
        centres, means = binned_mean(away, np.abs(error), np.arange(-most, most + 5, 4) - 2.0)
        axes.plot(centres, means, STYLES[at % len(STYLES)], label=name)
    axes.set(
        xlabel="indices that the lens is nearer than the subject",
        ylabel="mean absolute error, indices",
        ylim=(0, None),
    )
    return _finish(figure, axes)


def binned_mean(
    places: Numbers, values: Numbers, edges: Float[np.ndarray, " edge"]
) -> tuple[Float[np.ndarray, " bin"], Float[np.ndarray, " bin"]]:
    """Returns the centre of each bin that holds something, and the mean of its values."""
    which = np.digitize(places, edges) - 1
    inside = (which >= 0) & (which < len(edges) - 1)
    count = np.bincount(which[inside], minlength=len(edges) - 1)
    total = np.bincount(which[inside], values[inside], len(edges) - 1)
    some = count > 0
    return ((edges[:-1] + edges[1:]) / 2)[some], total[some] / count[some]


def frames_against_error(rows: Mapping[str, tuple[float, float]], oracle: float | None) -> "Figure":
    """Returns how many frames each strategy looks at, against how far off it is.

    Args:
        rows: For each strategy, its frames and its mean absolute error.
        oracle: The error of one who knows all but the lens's; None if nobody does.
    """
    figure = new_figure(6.8, 4.2)
    axes = figure.add_subplot()
    for at, (name, (frames, error)) in enumerate(rows.items()):
        axes.plot(frames, error, MARKERS[at % len(MARKERS)], markersize=6, label=name)
    if oracle is not None:
        axes.axhline(oracle, color=INK, linewidth=1, linestyle=":", label="oracle")
    axes.set_xscale("log", base=2)
    ticks = sorted({frames for frames, _ in rows.values()})
    axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
    axes.set(xlabel="frames", ylabel="mean absolute error, indices", ylim=(0, None))
    return _finish(figure, axes)


def _finish(figure: "Figure", axes: "Axes") -> "Figure":
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7)
    return figure
