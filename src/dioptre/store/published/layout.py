"""The published data set on disk: its tree, its names, its splits and its labels.

    <root>/train1 .. train7, test/
      raw_left_pd/<capture>/<k>/result_pd_left_<camera>.png          16 bit, native: 756 columns
      raw_right_pd/<capture>/<k>/result_pd_right_<camera>.png
      raw_up_left_pd/<capture>/<k>/result_up_pd_left_<camera>.png    the same, upsampled to 1512 columns
      raw_up_right_pd/<capture>/<k>/result_up_pd_right_<camera>.png
      merged_depth/<capture>/result_merged_depth_<camera>.png        8-bit codes, a quarter of the size
      merged_conf/<capture>/result_merged_conf_<camera>.exr          confidence, in [0, 1]
      scaled_images/                                                 colour JPEGs, not read

<k> is 0 (far) to 48 (near), not padded. <capture> is <scene>_<n>. Sizes come from the files; only their
ratios are fixed.

Frames are portrait in the files and landscape here: see store/published/frames.py. The patches are those of
the paper, counted from the top left of the *file*. store/published/archives.py reads the archives that the
set comes in.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from dioptre.errors import CaptureFileError, InputError, MapFileError
from dioptre.grid import FocusGrid, metres_to_dioptres
from dioptre.rig import CAMERAS
from dioptre.stack import LEFT, RIGHT
from dioptre.store.labels import SIZE, STRIDE, FrameSize, Labels, code_to_metres
from dioptre.store.maps import decode_map
from dioptre.store.published.frames import Rotation, Sampling, rotate_corners, unrotate_frame

BLACK, WHITE = 1024.0, 16368.0
DEPTH_FACTOR = 4  # frame pixels along a side of a depth pixel
TEST_SCENES = ("home1", "home2", "microkitchen1", "pillowroom1", "secondfloorgames")
PAPER_KEPT = {
    "train": 0.501,
    "test": 0.676,
}  # patches kept of 1680 a stack (paper, Dataset: 387,000 and 56,800)

FRAME_FOLDERS: dict[str, tuple[int, Sampling]] = {
    "raw_left_pd": (LEFT, "raw"),
    "raw_right_pd": (RIGHT, "raw"),
    "raw_up_left_pd": (LEFT, "up"),
    "raw_up_right_pd": (RIGHT, "up"),
}
DEPTH_FOLDER, CONFIDENCE_FOLDER = "merged_depth", "merged_conf"
FOLDERS = (*FRAME_FOLDERS, DEPTH_FOLDER, CONFIDENCE_FOLDER)

FILE = re.compile(
    rf"(?:^|(?P<part>[^/]+)/)(?P<folder>{'|'.join(FOLDERS)})/(?P<capture>[A-Za-z0-9_-][A-Za-z0-9_.-]*)/"
    rf"(?:(?:slice_)?(?P<index>[0-9]+)/)?result_\w+_(?P<camera>{'|'.join(CAMERAS)})\.(?:png|exr)$"
)


# Names


@dataclass(frozen=True)
class PublishedFile:
    """One file of the set, as its path tells.

    Attributes:
        part: "train1" to "train7" or "test"; "" if the path does not tell.
        folder: One of FOLDERS.
        capture: Name of the capture, "apt1_0".
        camera: One of CAMERAS.
        index: Position on the grid; None for a map.
    """

    part: str
    folder: str
    capture: str
    camera: str
    index: int | None

    @property
    def name(self) -> str:
        """What the capture of this camera is called in a store."""
        return f"{self.capture}-{self.camera}"

    @property
    def view(self) -> int:
        """LEFT or RIGHT, of a frame."""
        return FRAME_FOLDERS[self.folder][0]

    @property
    def sampling(self) -> Sampling:
        """Whether a frame is native or upsampled."""
        return FRAME_FOLDERS[self.folder][1]


def parse_path(path: str) -> PublishedFile | None:
    """Returns the file of the set that a path names; None if it is none that is read."""
    found = FILE.search(path)
    if not found or (found["index"] is None) == (found["folder"] in FRAME_FOLDERS):
        return None
    index = None if found["index"] is None else int(found["index"])
    part = "" if found["part"] in (None, ".") else found["part"]
    return PublishedFile(part, found["folder"], found["capture"], found["camera"], index)


def capture_scene(capture: str) -> str:
    """Returns the scene of a capture: its name without the last number."""
    return re.sub(r"_[0-9]+$", "", capture)


@dataclass(frozen=True)
class Validation:
    """Which training scenes are kept for validation. It depends on a scene's name and on nothing else.

    Attributes:
        fraction: So much of the scenes, chosen by a hash of their names.
        scenes: These scenes besides.
    """

    fraction: float = 0.0
    scenes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.fraction < 1:
            raise InputError(f"the fraction of scenes for validation is in [0, 1), not {self.fraction:g}")
        for scene in self.scenes:
            if scene in TEST_SCENES:
                raise InputError(f"the scene {scene} cannot be for validation: it is a test scene")

    @classmethod
    def parse(cls, text: str) -> "Validation":
        """Returns the choice in a user's text: a fraction such as 0.1, or scenes such as apt1,home5."""
        if re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+", text):
            return cls(fraction=float(text))
        return cls(scenes=tuple(name.strip() for name in text.split(",") if name.strip()))

    def holds(self, scene: str) -> bool:
        """True if a training scene is for validation."""
        drawn = int.from_bytes(hashlib.sha256(scene.encode()).digest()[:8], "big") / 2**64
        return scene in self.scenes or drawn < self.fraction


def scene_split(scene: str, part: str, validation: Validation) -> str:
    """Returns the split of a scene: the official test scenes, and whatever lies in test/, are for testing."""
    if scene in TEST_SCENES or part == "test":
        return "test"
    return "validation" if validation.holds(scene) else "train"


# Trees


@dataclass(frozen=True)
class CaptureFiles:
    """The files of one camera's capture in a tree.

    Attributes:
        part: The folder it lies in, "train1".
        capture: Its name.
        camera: Which camera.
        frames: Path and sampling of each (slice, view) that is there, in numeric order.
        maps: Paths of depth and confidence, by the names of their folders.
    """

    part: str
    capture: str
    camera: str
    frames: tuple[tuple[int, int, Path, Sampling], ...]
    maps: tuple[tuple[str, Path], ...]

    @property
    def name(self) -> str:
        """What the capture is called in a store."""
        return f"{self.capture}-{self.camera}"


def is_tree(root: Path) -> bool:
    """True for a folder that is a part of the set, or holds some."""
    return bool(_parts(root))


def _parts(root: Path) -> list[Path]:
    """Returns the folders that hold raw_left_pd and the like: the root itself, or some of those in it."""
    candidates = [root, *sorted(path for path in root.iterdir() if path.is_dir())] if root.is_dir() else []
    return [path for path in candidates if any((path / folder).is_dir() for folder in FRAME_FOLDERS)]


def list_captures(root: Path, cameras: Sequence[str], samplings: Sequence[Sampling]) -> list[CaptureFiles]:
    """Returns the captures of a tree, by part and name.

    Args:
        root: The set, or one part of it.
        cameras: Only these.
        samplings: Which frames to take; where both samplings of a frame are there, the first of these.
    """
    found: dict[tuple[str, str, str], dict[tuple[str, int | None], Path]] = {}
    for part in _parts(root):
        for path, item in _walk(part):
            if item.camera in cameras:
                files = found.setdefault((part.name, item.capture, item.camera), {})
                files[item.folder, item.index] = path
    return [_capture_files(*key, found[key], samplings) for key in sorted(found)]


def _walk(part: Path) -> Iterator[tuple[Path, PublishedFile]]:
    for folder in FOLDERS:
        for path in (part / folder).glob("*/*/*.*" if folder in FRAME_FOLDERS else "*/*.*"):
            item = parse_path(path.relative_to(part).as_posix())
            if item:
                yield path, item


def _capture_files(
    part: str,
    capture: str,
    camera: str,
    files: dict[tuple[str, int | None], Path],
    samplings: Sequence[Sampling],
) -> CaptureFiles:
    frames: dict[tuple[int, int], tuple[int, int, Path, Sampling]] = {}
    for sampling in samplings:
        for (folder, index), path in files.items():
            if index is not None and FRAME_FOLDERS[folder][1] == sampling:
                view = FRAME_FOLDERS[folder][0]
                frames.setdefault((index, view), (index, view, path, sampling))
    maps = tuple((folder, path) for (folder, index), path in files.items() if index is None)
    return CaptureFiles(part, capture, camera, tuple(frames[key] for key in sorted(frames)), maps)


# Labels


def decode_depth(data: bytes, name: str) -> UInt8[np.ndarray, "map_row map_col"]:
    """Returns the codes of a depth map, as they lie in the file."""
    try:
        codes = decode_map(data, name)
    except MapFileError as error:
        raise CaptureFileError(str(error)) from None
    if codes.dtype != np.uint8:
        raise CaptureFileError(f"{name} holds {codes.dtype}; a depth map holds 8-bit codes")
    return codes


def decode_confidence(data: bytes, name: str) -> Float[np.ndarray, "map_row map_col"]:
    """Returns a confidence map, as it lies in the file."""
    try:
        confidence = decode_map(data, name)
    except MapFileError as error:
        raise CaptureFileError(str(error)) from None
    if not np.issubdtype(confidence.dtype, np.floating):
        raise CaptureFileError(f"{name} holds {confidence.dtype}; a confidence map holds floats")
    return confidence


def published_labels(
    depth: UInt8[np.ndarray, "map_row map_col"],
    confidence: Float[np.ndarray, "_ _"],
    frame: FrameSize,
    grid: FocusGrid,
    nearest_m: float,
    farthest_m: float,
    rotate: Rotation,
    size: int,
    stride: int,
) -> Labels:
    """Returns the labels of all patches of a capture, their corners in the landscape frame.

    Args:
        depth: Codes, as they lie in the file.
        confidence: As it lies in the file.
        frame: Rows and columns of the landscape frame.
        grid: The grid.
        nearest_m: Distance of code 0.
        farthest_m: Distance of code 255.
        rotate: Which way the files are turned.
        size: Rows and columns of a patch.
        stride: From patch to patch.

    Raises:
        CaptureFileError: If a map has not a quarter of the frame's size.
    """
    file = frame[1], frame[0]
    expected = file[0] // DEPTH_FACTOR, file[1] // DEPTH_FACTOR
    for what, found in (("depth", depth.shape), ("confidence", confidence.shape)):
        if found != expected or (expected[0] * DEPTH_FACTOR, expected[1] * DEPTH_FACTOR) != file:
            raise CaptureFileError(
                f"its {what} map is {found[1]} x {found[0]}, but frames of {file[1]} x {file[0]} pixels "
                f"need {file[1] / DEPTH_FACTOR:g} x {file[0] / DEPTH_FACTOR:g}"
            )
    metres = np.asarray(code_to_metres(depth.astype(np.float64), nearest_m, farthest_m))
    dioptres = np.asarray(metres_to_dioptres(metres))
    labels = Labels.from_maps(dioptres, confidence, grid, file, size, stride)
    return replace(labels, corners=rotate_corners(labels.corners, frame, size, rotate))


def labels_of_depth(
    depth: Float[np.ndarray, "row col"],
    grid: FocusGrid,
    rotate: Rotation = "ccw",
    size: int = SIZE,
    stride: int = STRIDE,
) -> Labels:
    """Returns the labels of the patches that an import cuts out of a frame whose depth is known everywhere.

    Args:
        depth: In dioptres, of every pixel of the landscape frame.
        grid: The grid.
        rotate: Which way the files are turned.
        size: Rows and columns of a patch.
        stride: From patch to patch.
    """
    upright = unrotate_frame(depth, rotate)
    labels = Labels.from_maps(upright, np.ones_like(upright), grid, upright.shape, size, stride)
    return replace(labels, corners=rotate_corners(labels.corners, depth.shape, size, rotate))
