"""Curves over many answers: error against the start and against blur, posteriors, frames against error.

The paper's figure 10, and our own. All are drawn from predictions that were counted, but for posteriors,
which are handed in.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from dioptre.evaluate.figures import CHOSEN, INK, MARKERS, finish, new_figure, stroke

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure

GREEN, BOTH = PAIR = ("#009e73", "#7b3fa0")
BLUR_BIN = 4  # indices out of focus that are taken together

ByStart = Float[np.ndarray, "2 n n"]  # (start, truth): answers, and the sizes of their errors


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
    return finish(figure, axes)


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
        axes.plot(starts, answer, MARKERS[at], color=PAIR[at], markersize=3.5, label=name)
    axes.set(xlabel="slice that is seen", ylabel="answer", ylim=(-1, positions))
    return finish(figure, axes)


def error_by_start(errors: Mapping[str, ByStart]) -> "Figure":
    """Returns the mean absolute error by the slice that is seen first, for each method."""
    figure = new_figure(8.4, 4.2)
    axes = figure.add_subplot()
    for at, (name, (count, size)) in enumerate(errors.items()):
        starts, means = mean_by_place(np.arange(len(count)), count.sum(axis=1), size.sum(axis=1))
        axes.plot(starts, means, **stroke(at), label=name)
    axes.set(xlabel="slice that is seen first", ylabel="mean absolute error, indices", ylim=(0, None))
    return finish(figure, axes, beside=True)


def error_by_blur(errors: Mapping[str, ByStart], most: int) -> "Figure":
    """Returns the mean absolute error by how far out of focus the first look is.

    Args:
        errors: Of each method.
        most: How many indices are drawn on either side.
    """
    figure = new_figure(8.4, 4.2)
    axes = figure.add_subplot()
    for at, (name, (count, size)) in enumerate(errors.items()):
        start, truth = np.indices(count.shape)
        away = np.round((start - truth) / BLUR_BIN).astype(np.int64) * BLUR_BIN
        inside = np.abs(away) <= most
        places, means = mean_by_place(away[inside], count[inside], size[inside])
        axes.plot(places, means, **stroke(at), label=name)
    axes.set(
        xlabel="indices that the lens is nearer than the subject",
        ylabel="mean absolute error, indices",
        ylim=(0, None),
    )
    return finish(figure, axes, beside=True)


def mean_by_place(
    places: Int[np.ndarray, " cell"], count: Float[np.ndarray, " cell"], total: Float[np.ndarray, " cell"]
) -> tuple[Int[np.ndarray, " place"], Float[np.ndarray, " place"]]:
    """Returns each place that holds something, and the mean there, out of counts and sums."""
    names, which = np.unique(places, return_inverse=True)
    counts, totals = (np.bincount(which, one, len(names)) for one in (count, total))
    some = counts > 0
    return names[some], totals[some] / counts[some]


def frames_against_error(
    rows: Mapping[str, Sequence[tuple[int, float]]], oracle: float | None, every: int
) -> "Figure":
    """Returns a plot of each strategy's mean absolute error against the frames that it takes.

    Args:
        rows: For each strategy, its frames and its mean absolute error, after each look.
        oracle: The error of one who knows all but the lens's; None if nobody does.
        every: Frames of a whole stack.
    """
    figure = new_figure(8.4, 4.6)
    axes = figure.add_subplot()
    for at, (name, points) in enumerate(rows.items()):
        frames, errors = zip(*points, strict=True)
        marker = MARKERS[at % len(MARKERS)]
        axes.plot(frames, errors, marker=marker, markersize=5, **stroke(at), label=name)
    if oracle is not None:
        axes.axhline(oracle, color=INK, linewidth=1, linestyle=":", label="oracle")
    axes.set_xscale("log", base=2)
    ticks = sorted({frames for points in rows.values() for frames, _ in points})
    axes.set_xticks(ticks, [f"all {one}" if one == every else f"{one}" for one in ticks])
    axes.minorticks_off()
    axes.set(xlabel="frames", ylabel="mean absolute error, indices", ylim=(0, None))
    return finish(figure, axes, beside=True)
