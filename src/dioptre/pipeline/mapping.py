"""From a stack of frames to a folder of maps: depth from focus.

index.npy         the sharpest slice of every patch, counted from 0 in the order of the stack
position.npy      the place there, between slices, in the unit of the positions (manifest.json)
dioptres.npy      the focus there, if it is known
confidence.npy    the probability that the patch is sharp there
focused.npy       whether the patch is focused: at the risk that is accepted
answered.npy      whether there is an answer at all, focused or uncertain
rows.npy          the row of the patches' centres in pixels, cols.npy their column
map.png           the index or the dioptres in colour with a scale: paler where it is uncertain, grey where
                  there is no answer
all-in-focus.png  each pixel from the slice in which it is sharp, as far as there are answers, in colour if
                  the files have colours
manifest.json     what was written, last
"""

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Shaped, UInt8, UInt16

from dioptre.errors import MissingExtraError
from dioptre.evaluate.depth_map import depth_map
from dioptre.evaluate.figures import to_bytes
from dioptre.focusing.composite import all_in_focus, filled_index, pixel_index
from dioptre.focusing.focus_map import FocusMap, focus_map
from dioptre.grid import SLICE, FocusGrid
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.settings import Mapping
from dioptre.stacks.encoding import to_png
from dioptre.stacks.pictures import Pictures

KIND: Final = "focus map"
MAP, COMPOSITE = "map.png", "all-in-focus.png"
ARRAYS: Final = ("index", "position", "dioptres", "confidence", "focused", "answered", "rows", "cols")


def map_stack(
    pictures: Pictures,
    grid: FocusGrid | None,
    how: Mapping,
    progress: Callable[[int, int], None],
) -> tuple[FocusMap, dict[str, bytes]]:
    """Returns the map of a stack, in its own order, and the files of the folder.

    The stack is read twice, slice by slice: for the map, and for the picture with all in focus.

    Args:
        pictures: The frames, opened.
        grid: Where they were taken; None for as their file tells.
        how: Which method, and which patches.
        progress: Is told how much is done, and of how much.
    """
    slices, steps = len(pictures), 0

    def moved(done: int, total: int) -> None:
        nonlocal steps
        steps = total
        progress(done, total + slices)

    found = focus_map(
        pictures,
        how.method,
        how.size,
        how.stride,
        grid=grid,
        black=how.black,
        white=how.white,
        progress=moved,
    )
    files = {
        f"{name}.npy": _to_npy(values)
        for name in ARRAYS
        if (values := getattr(found, name)) is not None
    }  # fmt: skip
    files[COMPOSITE] = to_png(
        _to_codes(_composite(pictures, found, lambda at: progress(steps + at, steps + slices)))
    )
    with suppress(MissingExtraError):
        files[MAP] = to_bytes(_drawn(found, pictures.shape[2:], slices), "png")
    return found, files


def write_map(
    out: Path, files: dict[str, bytes], how: Mapping, about: dict[str, Any], overwrite: bool
) -> None:
    """Writes the files of a map into a folder.

    Raises:
        FileError: If the folder holds something else, or a file that was not written here.
    """
    config = {"method": how.method, "size": how.size, "stride": how.stride}
    write_all(out, KIND, files, {"config": config, **about}, overwrite)


def _to_npy(values: Shaped[np.ndarray, "..."]) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def _composite(
    pictures: Pictures, found: FocusMap, done: Callable[[int], None]
) -> Shaped[np.ndarray, "row col *rgb"]:
    """Returns the picture with all in focus, in colour if the files have colours."""
    n, _, rows, cols = pictures.shape
    at = pixel_index(filled_index(found.index, found.answered), found.rows, found.cols, (rows, cols))
    painted = pictures.colours(0) is not None

    def frame(index: int) -> Shaped[np.ndarray, "row col *rgb"]:
        done(index + 1)
        colours = pictures.colours(index) if painted else None
        if colours is not None:
            return colours
        views = pictures.read(index)
        grey = views[0] if len(views) == 1 else views.mean(axis=0).astype(views.dtype)
        return np.repeat(grey[..., None], 3, axis=2) if painted else grey

    return all_in_focus((frame(index) for index in range(n)), at)


def _to_codes(
    picture: Shaped[np.ndarray, "row col *rgb"],
) -> UInt8[np.ndarray, "row col *rgb"] | UInt16[np.ndarray, "row col *rgb"]:
    """Returns a picture as codes of 8 or 16 bits; what is of another type from its least to its most."""
    if picture.dtype in (np.uint8, np.uint16):
        return picture
    values = np.nan_to_num(picture.astype(np.float64))
    low, high = float(values.min()), float(values.max())
    return np.rint(65535 * (values - low) / max(high - low, 1e-12)).astype(np.uint16)


def _drawn(found: FocusMap, shape: tuple[int, ...], slices: int) -> Any:
    values, label = (found.index.astype(np.float64), f"sharpest slice, of 0..{slices - 1}")
    if found.dioptres is not None:
        values, label = found.dioptres, "focus (dioptres)"
    elif found.unit != SLICE:
        values, label = found.position, f"position ({found.unit})"
    step = [
        float(centres[1] - centres[0]) if len(centres) > 1 else 1.0 for centres in (found.rows, found.cols)
    ]
    extent = (
        float(found.cols[0] - step[1] / 2),
        float(found.cols[-1] + step[1] / 2),
        float(found.rows[-1] + step[0] / 2),
        float(found.rows[0] - step[0] / 2),
    )
    sure, known = float(np.mean(found.focused)), float(np.mean(found.answered))
    title = f"{shape[1]} x {shape[0]} pixels\n{sure:.0%} of the patches focused"
    title += f", {known - sure:.0%} uncertain (paler)" if known > sure else ""
    title += f", {1 - known:.0%} without an answer (grey)" if known < 1 else ""
    return depth_map(values, found.focused, found.answered, extent, title, label)
