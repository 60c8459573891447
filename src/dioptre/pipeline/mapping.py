"""From a stack of frames to a folder of maps: depth from focus.

index.npy         the sharpest slice of every patch, counted from 0 in the order of the stack
dioptres.npy      the focus there, between slices, if the positions are known
confidence.npy    the probability that the index is at most one off
focused.npy       whether the patch is clearly in focus somewhere
rows.npy          the row of the patches' centres in pixels, cols.npy their column
map.png           the index or the dioptres in colour with a scale, grey where nothing is in focus
all-in-focus.png  each pixel from the slice in which it is sharp
manifest.json     what was written, last
"""

import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Shaped, UInt8, UInt16

from dioptre.dataset.encoding import to_png
from dioptre.errors import MissingExtraError
from dioptre.evaluate.depth_map import depth_map
from dioptre.evaluate.figures import to_bytes
from dioptre.loop.composite import all_in_focus, filled_index, pixel_index
from dioptre.loop.focus_map import FocusMap, focus_map
from dioptre.optics import FocusGrid
from dioptre.pipeline.ledger import write_all
from dioptre.pipeline.settings import Mapping

KIND: Final = "focus map"
MAP, COMPOSITE = "map.png", "all-in-focus.png"


def map_stack(
    codes: Shaped[np.ndarray, "slice view row col"],
    names: Sequence[str],
    dioptres: Float[np.ndarray, " slice"] | None,
    how: Mapping,
    progress: Callable[[int, int], None],
) -> tuple[FocusMap, dict[str, bytes]]:
    """Returns the map of a stack, in its own order, and the files of the folder.

    Args:
        codes: The frames, as they are in the files.
        names: What the slices are called.
        dioptres: Where they were taken, rising or falling; None if that is not known.
        how: Which method, and which patches.
        progress: Is told how much is done, and of how much.
    """
    falling = dioptres is not None and len(dioptres) > 1 and dioptres[0] > dioptres[-1]
    grid = None if dioptres is None else FocusGrid(dioptres[::-1] if falling else dioptres)
    turned = codes[::-1] if falling else codes
    found = focus_map(
        turned,
        how.method,
        how.size,
        how.stride,
        grid=grid,
        black=how.black,
        white=how.white,
        progress=progress,
    )
    index = len(codes) - 1 - found.index if falling else found.index
    found = FocusMap(
        index, found.confidence, found.focused, found.dioptres, found.rows, found.cols, found.method
    )
    files = {
        f"{name}.npy": _to_npy(values)
        for name, values in (
            ("index", found.index),
            ("dioptres", found.dioptres),
            ("confidence", found.confidence),
            ("focused", found.focused),
            ("rows", found.rows),
            ("cols", found.cols),
        )
        if values is not None
    }
    files[COMPOSITE] = to_png(_to_codes(_composite(codes, found)))
    with suppress(MissingExtraError):
        files[MAP] = to_bytes(_drawn(found, codes.shape[2:], len(names)), "png")
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
    codes: Shaped[np.ndarray, "slice view row col"], found: FocusMap
) -> Shaped[np.ndarray, "row col"]:
    at = pixel_index(
        filled_index(found.index, found.focused), found.rows, found.cols, (codes.shape[2], codes.shape[3])
    )
    if codes.shape[1] == 1:
        return all_in_focus(codes[:, 0], at)
    return all_in_focus(codes.mean(axis=1).astype(codes.dtype), at)


def _to_codes(
    picture: Shaped[np.ndarray, "row col"],
) -> UInt8[np.ndarray, "row col"] | UInt16[np.ndarray, "row col"]:
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
    step = [
        float(centres[1] - centres[0]) if len(centres) > 1 else 1.0 for centres in (found.rows, found.cols)
    ]
    extent = (
        float(found.cols[0] - step[1] / 2),
        float(found.cols[-1] + step[1] / 2),
        float(found.rows[-1] + step[0] / 2),
        float(found.rows[0] - step[0] / 2),
    )
    part = f"{np.mean(found.focused):.0%} of the patches in focus somewhere"
    return depth_map(values, found.focused, extent, f"{shape[1]} x {shape[0]} pixels, {part}", label)
