"""Preview: what a result looked at, small enough to be kept: the frame, and pieces of it at full size.

Codes are 8 bit for showing, all but the outermost thousandths between black and white.
"""

from typing import Final

import numpy as np
from jaxtyping import Float, Float32, UInt8

from dioptre.loop.inputs import cut
from dioptre.loop.result import FocusResult, Preview, Roi
from dioptre.loop.slices import Slices

LARGEST: Final = 320  # pixels of the frame's longer side
CROP: Final = 96  # rows and columns of a piece at full size
CLIPPED: Final = 0.1  # percent


def preview_of(slices: Slices, result: FocusResult) -> Preview:
    """Returns the chosen slice of a stack, small, and the piece with most detail of it and its neighbours.

    Args:
        slices: All slices, in the order of the result; only these few are read.
        result: Of one region of them, or of all.
    """
    near = tuple(k for k in (result.index - 1, result.index, result.index + 1) if 0 <= k < len(slices))
    pictures = {k: _grey(slices.pixels(slice(k, k + 1))[0]) for k in near}
    chosen = pictures[result.index]
    rows, cols = chosen.shape
    place = _most_detail(cut(chosen, result.roi), result.roi or Roi(0, 0, cols, rows))
    crops = np.stack([cut(pictures[k], place) for k in near])
    step = -(-max(rows, cols) // LARGEST)
    small = chosen[: rows // step * step, : cols // step * step]
    small = small.reshape(rows // step, step, cols // step, step).mean(axis=(1, 3), dtype=np.float32)
    return Preview(_shown(small), step, _shown(crops), near, place)


def _grey(views: Float32[np.ndarray, "view row col"]) -> Float32[np.ndarray, "row col"]:
    return np.nan_to_num(views.mean(axis=0, dtype=np.float32), nan=0.0, posinf=1.0, neginf=0.0)


def _most_detail(picture: Float32[np.ndarray, "row col"], region: Roi) -> Roi:
    """Returns the piece of a region whose pixels differ most from their neighbours."""
    h, w = min(CROP, region.h), min(CROP, region.w)
    change = np.abs(np.diff(picture[:, :-1], axis=0)) + np.abs(np.diff(picture[:-1], axis=1))
    places = [(y, x) for y in range(0, region.h - h + 1, h) for x in range(0, region.w - w + 1, w)]
    y, x = max(places, key=lambda at: float(change[at[0] : at[0] + h, at[1] : at[1] + w].mean()))
    return Roi(region.x + x, region.y + y, w, h)


def _shown(pictures: Float[np.ndarray, "*k row col"]) -> UInt8[np.ndarray, "*k row col"]:
    low, high = np.percentile(pictures, (CLIPPED, 100 - CLIPPED))
    scaled = (pictures - low) / max(float(high - low), 1e-9)
    return np.rint(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
