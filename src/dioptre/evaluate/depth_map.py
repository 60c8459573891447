"""A map of focus over a frame as a picture in colour, with its scale."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from dioptre.evaluate.figures import new_figure

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure

UNKNOWN = "#bdbdbd"
PALER = 0.65  # of white over what is uncertain


def depth_map(
    values: Float[np.ndarray, "r c"],
    sure: Bool[np.ndarray, "r c"],
    known: Bool[np.ndarray, "r c"],
    extent: tuple[float, float, float, float],
    title: str,
    label: str,
) -> "Figure":
    """Returns the picture of a map: paler where it is uncertain, grey where nothing is known.

    Args:
        values: Of each patch, rows from the top.
        sure: Which of them are focused.
        known: Which of them are focused or uncertain.
        extent: Left, right, bottom and top of the map in pixels of the frame.
        title: What stands above it.
        label: What the values are, with their unit.
    """
    left, right, bottom, top = extent
    width = 7.2
    figure = new_figure(width, max(2.5, 0.76 * width * abs(bottom - top) / abs(right - left) + 0.8))
    axes = figure.add_subplot()
    axes.set_facecolor(UNKNOWN)
    shown = np.ma.masked_where(~known, values)
    image = axes.imshow(shown, extent=extent, cmap="viridis", interpolation="nearest")
    unsure = known & ~sure
    if unsure.any():
        veil = np.ones((*values.shape, 4))
        veil[..., 3] = PALER * unsure
        axes.imshow(veil, extent=extent, interpolation="nearest")
    axes.set(title=title, xlabel="column (pixels)", ylabel="row (pixels)")
    figure.colorbar(image, ax=axes, label=label, shrink=0.9)
    return figure
