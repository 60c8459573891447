"""A small faithful tree of the published data set, from the simulator.

Frames are 192 x 256 (landscape), an eighth of the real ones in each direction; everything else is as
published: portrait files, 49 unpadded slices, 10-bit codes shifted by 4, both forms of the frames, depth
codes and confidence at a quarter of the size. Each capture shows two planes, one in each half of the frame.
"""

import tarfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import OpenEXR

from dioptre.optics import CameraModel, depth_to_blur
from dioptre.simulate.render import defocus
from dioptre.simulate.sensor import Noise, read_native
from dioptre.simulate.texture import dead_leaves
from dioptre.store.labels import metres_to_code
from dioptre.store.published.frames import native_to_upsampled, unrotate_frame

FRAME = (192, 256)
HALF = FRAME[1] // 2
FAR, NEAR = 8, 34  # where the planes are on the grid
CAMERA = CameraModel.pixel3()
POSITIONS = len(CAMERA.grid)
PARTS = {"train1": ("apt1_0",), "train2": ("apt1_2",), "test": ("home1_3",)}

# Of the 4 x 2 patches of a file, the 2 of the first row are not trusted.
PATCHES, KEPT = 8, 6
DOUBTFUL_ROWS = 17  # of the depth map: more than half of those of the first row of patches
DOUBT = 0.9


@cache
def plane(index: int) -> np.ndarray:
    """The light of a plane at a position of the grid, (slice, view, row, col)."""
    rng = np.random.default_rng(index)
    texture = 0.5 * dead_leaves(FRAME[0] + 64, FRAME[0] + 64, rng)
    focus = CAMERA.grid.dioptres
    return defocus(texture, np.asarray(depth_to_blur(CAMERA, focus, focus[index])), FRAME[0])[..., :HALF]


@cache
def native(capture: str) -> np.ndarray:
    """The codes of a capture, landscape, (slice, view, native row, col)."""
    light = np.concatenate([plane(index) for index in planes(capture)], axis=-1)
    rng = np.random.default_rng(list(capture.encode()))
    return read_native(light, Noise(shot=0.1), rng) << 4


def planes(capture: str) -> tuple[int, int]:
    """Where the left and the right half of a frame are on the grid."""
    return (FAR, NEAR) if int(capture[-1]) % 2 == 0 else (NEAR, FAR)


def depth_codes(capture: str) -> np.ndarray:
    """The depth map as it is in the file."""
    codes = [np.rint(metres_to_code(CAMERA.grid.index_to_metres(index))) for index in planes(capture)]
    landscape = np.repeat(np.array(codes, np.uint8), HALF // 4)[None].repeat(FRAME[0] // 4, axis=0)
    return unrotate_frame(landscape, "ccw")


def confidence() -> np.ndarray:
    """The confidence map as it is in the file."""
    found = np.ones((FRAME[1] // 4, FRAME[0] // 4), np.float32)
    found[:DOUBTFUL_ROWS] = DOUBT
    return found


def write_exr(path: Path, pixels: np.ndarray) -> None:
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"R": np.ascontiguousarray(pixels, np.float32)}).write(str(path))


def write_capture(
    part: Path,
    capture: str,
    forms: Sequence[str] = ("raw", "up"),
    camera: str = "center",
    slices: Iterable[int] = range(POSITIONS),
    shift: int = 0,
) -> None:
    """Writes one camera's capture; shift > 0 leaves out low bits, and 8 of them leave an 8-bit file."""
    codes = native(capture)
    for index in slices:
        for view, side in enumerate(("left", "right")):
            portrait = unrotate_frame(codes[index, view], "ccw")
            if "raw" in forms:
                file = part / f"raw_{side}_pd/{capture}/{index}/result_pd_{side}_{camera}.png"
                _write_png(file, portrait, shift)
            if "up" in forms:
                file = part / f"raw_up_{side}_pd/{capture}/{index}/result_up_pd_{side}_{camera}.png"
                _write_png(file, native_to_upsampled(portrait), shift)
        picture = part / f"scaled_images/{capture}/{index}/result_scaled_image_{camera}.jpg"
        _write_png(picture, np.zeros((FRAME[1] // 4, FRAME[0] // 4, 3), np.uint8), 0)
    _write_png(part / f"merged_depth/{capture}/result_merged_depth_{camera}.png", depth_codes(capture), 0)
    folder = part / f"merged_conf/{capture}"
    folder.mkdir(parents=True, exist_ok=True)
    write_exr(folder / f"result_merged_conf_{camera}.exr", confidence())


def _write_png(path: Path, codes: np.ndarray, shift: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shifted = codes >> shift
    assert cv2.imwrite(str(path), shifted.astype(np.uint8) if shift >= 8 else shifted)


def write_tree(
    root: Path,
    parts: Mapping[str, Sequence[str]] = PARTS,
    forms: Sequence[str] = ("raw",),
    slices: Sequence[int] = range(POSITIONS),
) -> Path:
    """Writes a tree of some captures in each part, and returns its root."""
    for part, captures in parts.items():
        for capture in captures:
            write_capture(root / part, capture, forms, slices=slices)
    return root


def write_archive(part: Path, archive: Path) -> Path:
    """Writes a part of a tree as an archive, folder by folder, and returns the archive."""
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for folder in sorted(part.iterdir()):
            tar.add(folder, arcname=f"{part.name}/{folder.name}")
    return archive
