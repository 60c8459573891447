"""Pictures of single answers: example stacks, and pages that show what methods chose beside the truth.

The paper's figures 6 to 9 and 11 to 18. Pictures are patches of a store; choices are its predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from dioptre.evaluate.figures import CHOSEN, FAILED, new_figure

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

TRUE = "#1b7fa8"
TILE_IN = 1.25  # inches that a picture takes
DISPLAY_GAMMA = 2.2

Slices = Float32[np.ndarray, "n row col"]


@dataclass(frozen=True, eq=False)
class Example:
    """One patch and what was answered.

    Attributes:
        name: Of the patch.
        slices: Its stack, green.
        truth: The slice that is in focus.
        start: The slice that was seen; None if all were.
        choices: Methods and the slices that they chose.
    """

    name: str
    slices: Slices
    truth: int
    start: int | None
    choices: Sequence[tuple[str, int]]


def example_stacks(examples: Sequence[Example], shown: int = 7) -> "Figure":
    """Returns figure 6: some slices of some stacks, spread over the ladder, the one in focus marked."""
    figure = new_figure(TILE_IN * (shown + 1), TILE_IN * 1.15 * len(examples))
    for row, example in enumerate(examples):
        picks = np.linspace(0, len(example.slices) - 1, shown).round().astype(int)
        picks[np.argmin(np.abs(picks - example.truth))] = example.truth
        for col, k in enumerate(picks):
            axes = figure.add_subplot(len(examples), shown, row * shown + col + 1)
            _show(axes, example.slices, int(k), f"{k}", TRUE if k == example.truth else "")
    return figure


def example_page(examples: Sequence[Example], title: str) -> "Figure":
    """Returns a page: for each patch what was seen, what each method chose with its error, and the truth."""
    columns = 2 + max(len(example.choices) for example in examples)
    figure = new_figure(TILE_IN * 1.1 * columns, TILE_IN * 1.35 * len(examples) + 0.3)
    for row, example in enumerate(examples):
        middle = len(example.slices) // 2 if example.start is None else example.start
        tiles = [(f"one of all: {middle}" if example.start is None else f"input: {middle}", middle, "")]
        tiles += [
            (f"{name}\n{k} ({k - example.truth:+d})", k, CHOSEN if k != example.truth else TRUE)
            for name, k in example.choices
        ]
        tiles.append((f"in focus: {example.truth}", example.truth, TRUE))
        for col, (text, k, colour) in enumerate(tiles):
            axes = figure.add_subplot(len(examples), columns, row * columns + col + 1)
            _show(axes, example.slices, k, text, colour)
    figure.suptitle(title, fontsize=10)
    return figure


def _show(axes: "Axes", slices: Slices, k: int, text: str, colour: str) -> None:
    """Shows a slice as a display would, by the range of its whole stack."""
    axes.imshow(displayed(slices)[k], cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.set_title(text, fontsize=6.5)
    for side in axes.spines.values():
        side.set(color=colour or FAILED, linewidth=2.2 if colour else 0.6)


def displayed(slices: Slices) -> Slices:
    """Returns linear slices as a display shows them, 0 to 1; all of a stack by one range."""
    low, high = np.nanpercentile(slices, (0.2, 99.8))
    scaled = np.clip((slices - low) / max(float(high - low), 1e-9), 0, 1)
    return (scaled ** (1 / DISPLAY_GAMMA)).astype(np.float32)
