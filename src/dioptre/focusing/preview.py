"""Preview: what a result looked at, small enough to be kept: the frame, and pieces of it at full size.

Codes are 8 bit for showing, all but the outermost thousandths between black and white.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, UInt8

from dioptre.focusing.inputs import cut
from dioptre.focusing.result import FocusResult, Preview, Roi
from dioptre.focusing.slices import Slices
from dioptre.miss import reach_of

LARGEST: Final = 320  # pixels of the frame's longer side
CROP: Final = 96  # rows and columns of a piece at full size
CLIPPED: Final = 0.1  # percent


def shown(result: FocusResult, slices: Slices) -> FocusResult:
    """Returns a result with what was looked at; what is not in memory is read again if somebody looks."""
    later = partial(preview_of, slices, result)
    return replace(result, preview=later if slices.pictures.array is None else later())


def preview_of(slices: Slices, result: FocusResult) -> Preview:
    """Returns the chosen slice of a stack, small, and the piece with most detail of it, before and after.

    Args:
        slices: All slices, in the order of the result; only these few are read.
        result: Of one region of them, or of all.
    """
    away = reach_of(len(slices))  # so that the neighbours of a fine sweep differ too
    near = tuple(k for k in (result.index - away, result.index, result.index + away) if 0 <= k < len(slices))
    chosen = _picture(slices, result.index)
    rows, cols = chosen.shape[:2]
    green = chosen if chosen.ndim == 2 else chosen[..., 1]
    place = _most_detail(cut(green, result.roi), result.roi or Roi(0, 0, cols, rows))
    top, left, bottom, right = place.y, place.x, place.y + place.h, place.x + place.w
    pieces = [
        (chosen if k == result.index else _picture(slices, k))[top:bottom, left:right].copy() for k in near
    ]
    alike = [piece for piece in pieces if piece.ndim == chosen.ndim]
    crops = np.stack(pieces if len(alike) == len(pieces) else [_grey(piece) for piece in pieces])
    step = -(-max(rows, cols) // LARGEST)
    small = chosen[: rows // step * step, : cols // step * step]
    small = small.reshape(rows // step, step, cols // step, step, *chosen.shape[2:])
    return Preview(_shown(small.mean(axis=(1, 3), dtype=np.float32)), step, _shown(crops), near, place)


def _picture(slices: Slices, at: int) -> Float32[np.ndarray, "row col *rgb"]:
    """Returns a slice as people see it: in colour if its file has colours, else the mean of its views."""
    colours = slices.pictures.colours(at)
    if colours is not None:
        return colours.astype(np.float32)
    views = slices.pixels(slice(at, at + 1))[0]
    return np.nan_to_num(views.mean(axis=0, dtype=np.float32), nan=0.0, posinf=1.0, neginf=0.0)


def _grey(piece: Float32[np.ndarray, "row col *rgb"]) -> Float32[np.ndarray, "row col"]:
    return piece if piece.ndim == 2 else piece.mean(axis=2, dtype=np.float32)


def _most_detail(picture: Float32[np.ndarray, "row col"], region: Roi) -> Roi:
    """Returns the piece of a region whose pixels differ most from their neighbours."""
    h, w = min(CROP, region.h), min(CROP, region.w)
    change = np.abs(np.diff(picture[:, :-1], axis=0)) + np.abs(np.diff(picture[:-1], axis=1))
    places = [(y, x) for y in range(0, region.h - h + 1, h) for x in range(0, region.w - w + 1, w)]
    y, x = max(places, key=lambda at: float(change[at[0] : at[0] + h, at[1] : at[1] + w].mean()))
    return Roi(region.x + x, region.y + y, w, h)


def _shown(pictures: Float[np.ndarray, "..."]) -> UInt8[np.ndarray, "..."]:
    low, high = np.percentile(pictures, (CLIPPED, 100 - CLIPPED))
    scaled = (pictures - low) / max(float(high - low), 1e-9)
    return np.rint(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
