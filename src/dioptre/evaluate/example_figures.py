"""Pictures of single answers: example stacks, and pages that show what methods chose beside the truth.

The paper's figures 6 to 9 and 11 to 18. Pictures are those of a `ExampleSet`; choices are predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from dioptre.evaluate.examples import DISPLAY_GAMMA, ExampleSet
from dioptre.evaluate.figures import CHOSEN, FAILED, new_figure

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Axes, Figure

TRUE = "#1b7fa8"
TILE_IN = 1.25  # inches that a picture takes
WIDTH = 17  # letters of a title that fit above a picture
CLOSE = 1  # indices off that still count as in focus

BytePicture = UInt8[np.ndarray, "row col"]


@dataclass(frozen=True, eq=False)
class Example:
    """One patch and what was answered.

    Attributes:
        name: Of the patch.
        slices: Its stack, green, as a display shows it.
        truth: The slice that is in focus.
        inputs: Pictures of what was seen, each with its title.
        choices: Methods and the slices that they chose.
    """

    name: str
    slices: UInt8[np.ndarray, "n row col"]
    truth: int
    inputs: Sequence[tuple[str, BytePicture]]
    choices: Sequence[tuple[str, int]]


@dataclass(frozen=True, eq=False)
class _Tile:
    """A picture with its title and the colour of its border."""

    title: str
    picture: BytePicture
    colour: str = ""


def example_stacks(examples: Sequence[Example], shown: int = 7) -> "Figure":
    """Returns figure 6: some slices of some stacks, spread over the grid, the one in focus marked."""
    rows = []
    for example in examples:
        picks = np.linspace(0, len(example.slices) - 1, shown).round().astype(int)
        picks[np.argmin(np.abs(picks - example.truth))] = example.truth
        rows.append(
            [
                _Tile(f"{k}: in focus", example.slices[k], TRUE)
                if k == example.truth
                else _Tile(f"{k}", example.slices[k])
                for k in picks.tolist()
            ]
        )
    return _draw([example.name for example in examples], rows)


def example_page(examples: Sequence[Example]) -> "Figure":
    """Returns a page: for each patch what was seen, what each method chose with its error, and the truth."""
    rows = []
    for example in examples:
        tiles = [_Tile(title, picture) for title, picture in example.inputs]
        for name, k in example.choices:
            error = k - example.truth
            text = "\n".join([*wrap(name, WIDTH), f"{k} (Err {error:+d})" if error else f"{k} (Err 0)"])
            tiles.append(_Tile(text, example.slices[k], TRUE if abs(error) <= CLOSE else CHOSEN))
        tiles.append(_Tile(f"in focus:\n{example.truth}", example.slices[example.truth], TRUE))
        rows.append(tiles)
    return _draw([example.name for example in examples], rows)


def _draw(names: Sequence[str], rows: Sequence[Sequence[_Tile]]) -> "Figure":
    columns = max(len(tiles) for tiles in rows)
    lines = max(tile.title.count("\n") + 1 for tiles in rows for tile in tiles)
    height = TILE_IN + 0.13 * lines + 0.2
    figure = new_figure(TILE_IN * columns + 0.3, height * len(rows))
    for row, (name, tiles) in enumerate(zip(names, rows, strict=True)):
        for col, tile in enumerate(tiles):
            axes = figure.add_subplot(len(rows), columns, row * columns + col + 1)
            _show(axes, tile)
            if col == 0:
                axes.set_ylabel(name, fontsize=6.5)
    return figure


def _show(axes: "Axes", tile: _Tile) -> None:
    axes.imshow(tile.picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.set_title(tile.title, fontsize=6.5)
    for side in axes.spines.values():
        side.set(color=tile.colour or FAILED, linewidth=2.4 if tile.colour else 0.6)


def example_of(
    gallery: ExampleSet,
    at: int,
    inputs: Sequence[tuple[str, BytePicture]],
    choices: Sequence[tuple[str, int]],
) -> Example:
    """Returns an example of a gallery with what was seen and answered."""
    return Example(str(gallery.name[at]), gallery.slices[at], int(gallery.truth[at]), inputs, choices)


def as_exposed(gallery: ExampleSet, at: int, k: int) -> BytePicture:
    """Returns a slice as it was exposed, white at the sensor's white, and not brightened."""
    shown = np.clip(gallery.linear(at)[k], 0, 1) ** (1 / DISPLAY_GAMMA)
    return np.rint(255 * shown).astype(np.uint8)
