"""Writing the tree of the published set: frames, depth and confidence, as `layout` reads them.

Arrays are landscape here and portrait in the files. Files appear under their names once they are whole.
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped, UInt16

from dioptre.errors import FileError
from dioptre.grid import dioptres_to_metres
from dioptre.store.labels import FARTHEST_M, LARGEST_CODE, NEAREST_M, metres_to_code
from dioptre.store.manifest import write_file
from dioptre.store.maps import openexr
from dioptre.store.published.frames import Rotation, unrotate_frame
from dioptre.store.published.layout import CONFIDENCE_FOLDER, DEPTH_FOLDER

SIDES = ("left", "right")
SHIFT = 4  # bits by which 10-bit codes are moved up
PNG_LEVEL = 1  # of compression: noise does not compress, and more takes long
ROTATION: Rotation = "ccw"


def frame_path(part: Path, capture: str, camera: str, index: int, view: int) -> Path:
    """Returns the path of a native frame."""
    side = SIDES[view]
    return part / f"raw_{side}_pd" / capture / str(index) / f"result_pd_{side}_{camera}.png"


def depth_path(part: Path, capture: str, camera: str) -> Path:
    """Returns the path of a depth map."""
    return part / DEPTH_FOLDER / capture / f"result_merged_depth_{camera}.png"


def confidence_path(part: Path, capture: str, camera: str) -> Path:
    """Returns the path of a confidence map."""
    return part / CONFIDENCE_FOLDER / capture / f"result_merged_conf_{camera}.exr"


def write_frames(
    part: Path, capture: str, camera: str, native: UInt16[np.ndarray, "slice 2 native_row col"]
) -> None:
    """Writes the native frames of a sweep, 10-bit codes, as the published ones: 16-bit PNG."""
    for index, views in enumerate(native):
        for view, codes in enumerate(views):
            picture = unrotate_frame(codes << SHIFT, ROTATION)
            write_picture(frame_path(part, capture, camera, index, view), picture)


def write_maps(
    part: Path,
    capture: str,
    camera: str,
    dioptres: Float[np.ndarray, "map_row map_col"],
    confidence: Float[np.ndarray, "map_row map_col"],
) -> None:
    """Writes a depth map as 8-bit codes, 0.1 m to 100 m, and a confidence map."""
    metres = dioptres_to_metres(np.maximum(dioptres, 1 / FARTHEST_M))
    codes = np.rint(np.clip(metres_to_code(metres, NEAREST_M, FARTHEST_M), 0, LARGEST_CODE)).astype(np.uint8)
    write_picture(depth_path(part, capture, camera), unrotate_frame(codes, ROTATION))
    write_exr(confidence_path(part, capture, camera), unrotate_frame(confidence, ROTATION))


def write_picture(path: Path, picture: Shaped[np.ndarray, "..."]) -> None:
    """Writes a PNG of 8 or 16 bits, grey or (row, col, 3) in the order blue, green, red."""
    import cv2  # noqa: PLC0415 (start-up time)

    path.parent.mkdir(parents=True, exist_ok=True)
    made, data = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, PNG_LEVEL])
    if not made:
        raise FileError(f"{path} cannot be written as a PNG")
    write_file(path, lambda file: file.write(data.tobytes()))


def write_exr(path: Path, pixels: Float[np.ndarray, "row col"]) -> None:
    """Writes one channel of floats, R, as the published confidence maps have it."""
    library = openexr()
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"compression": library.ZIP_COMPRESSION, "type": library.scanlineimage}
    file = library.File(header, {"R": np.ascontiguousarray(pixels, np.float32)})
    unfinished = path.with_name(f"{path.name}.unfinished")
    file.write(str(unfinished))
    unfinished.replace(path)


def write_array(path: Path, array: Shaped[np.ndarray, "..."]) -> None:
    """Writes an array as .npy."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    write_file(path, lambda file: file.write(data.getbuffer()))


def write_arrays(path: Path, arrays: Mapping[str, Shaped[np.ndarray, "..."]]) -> None:
    """Writes arrays by their names as .npz."""
    data = io.BytesIO()
    np.savez_compressed(data, **arrays)  # type: ignore[arg-type]
    write_file(path, lambda file: file.write(data.getbuffer()))
