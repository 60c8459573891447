"""The published data set on disk: its tree, its archives, its file formats.

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

**Which way up.** The files are portrait, and disparity runs along their rows; here frames are landscape, and
disparity runs along the columns. `rotate` says which way they are turned: "ccw" makes the top of a file the
left of a frame, "cw" the right. What the sensor bins are the file's columns, a frame's rows: native codes are
(native_row, col). The patches are those of the paper, counted from the top left of the *file*.
"""

import gzip
import hashlib
import re
import struct
import tarfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Literal

import numpy as np
from jaxtyping import Float, Shaped, UInt8, UInt16

from dioptre.dataset.decoding import decode_picture
from dioptre.dataset.labels import Frame, Labels, Places, code_to_metres
from dioptre.dataset.maps import decode_map
from dioptre.errors import ArchiveError, CaptureFileError, FileError
from dioptre.optics import FocusGrid, metres_to_dioptres
from dioptre.stack import LEFT, RIGHT

BLACK, WHITE = 1024.0, 16368.0
DEPTH_FACTOR = 4  # frame pixels along a side of a depth pixel
CAMERAS = ("center", "left", "right", "top", "bottom")
TEST_SCENES = ("home1", "home2", "microkitchen1", "pillowroom1", "secondfloorgames")
PAPER_KEPT = {
    "train": 0.501,
    "test": 0.676,
}  # patches kept of 1680 a stack (paper, Dataset: 387,000 and 56,800)

Form = Literal["raw", "up"]
Rotation = Literal["ccw", "cw"]
FRAME_FOLDERS: dict[str, tuple[int, Form]] = {
    "raw_left_pd": (LEFT, "raw"),
    "raw_right_pd": (RIGHT, "raw"),
    "raw_up_left_pd": (LEFT, "up"),
    "raw_up_right_pd": (RIGHT, "up"),
}
DEPTH_FOLDER, CONFIDENCE_FOLDER = "merged_depth", "merged_conf"
FOLDERS = (*FRAME_FOLDERS, DEPTH_FOLDER, CONFIDENCE_FOLDER)
ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar")

FILE = re.compile(
    rf"(?:^|(?P<part>[^/]+)/)(?P<folder>{'|'.join(FOLDERS)})/(?P<capture>[A-Za-z0-9_-][A-Za-z0-9_.-]*)/"
    rf"(?:(?:slice_)?(?P<index>[0-9]+)/)?result_\w+_(?P<camera>{'|'.join(CAMERAS)})\.(?:png|exr)$"
)
PNG_HEADER = struct.Struct(">8sI4sIIBB")  # signature, length, IHDR, columns, rows, bits, colour
NativeFrame = UInt16[np.ndarray, "native_row col"]
ReadSome = Callable[..., bytes]  # (count) -> so many bytes; () -> all that are left


# Names


@dataclass(frozen=True)
class Item:
    """One file of the set, as its path tells.

    Attributes:
        part: "train1" to "train7" or "test"; "" if the path does not tell.
        folder: One of FOLDERS.
        capture: Name of the capture, "apt1_0".
        camera: One of CAMERAS.
        index: Position on the ladder; None for a map.
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
    def form(self) -> Form:
        """Whether a frame is native or upsampled."""
        return FRAME_FOLDERS[self.folder][1]


def parse_path(path: str) -> Item | None:
    """Returns which file of the set a path names; None if it is none that is read."""
    found = FILE.search(path)
    if not found or (found["index"] is None) == (found["folder"] in FRAME_FOLDERS):
        return None
    index = None if found["index"] is None else int(found["index"])
    part = "" if found["part"] in (None, ".") else found["part"]
    return Item(part, found["folder"], found["capture"], found["camera"], index)


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
            raise FileError(f"the fraction of scenes for validation is in [0, 1), not {self.fraction:g}")
        for scene in self.scenes:
            if scene in TEST_SCENES:
                raise FileError(f"the scene {scene} cannot be for validation: it is a test scene")

    @classmethod
    def parse(cls, text: str) -> "Validation":
        """Returns what a user wrote: a fraction such as 0.1, or names of scenes such as apt1,home5."""
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
        frames: Path and form of each (slice, view) that is there, in numeric order.
        maps: Paths of depth and confidence, by the names of their folders.
    """

    part: str
    capture: str
    camera: str
    frames: tuple[tuple[int, int, Path, Form], ...]
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


def list_captures(root: Path, cameras: Sequence[str], forms: Sequence[Form]) -> list[CaptureFiles]:
    """Returns the captures of a tree, by part and name.

    Args:
        root: The set, or one part of it.
        cameras: Only these.
        forms: Which frames to take; where both forms of a frame are there, the first of these.
    """
    found: dict[tuple[str, str, str], dict[tuple[str, int | None], Path]] = {}
    for part in _parts(root):
        for path, item in _walk(part):
            if item.camera in cameras:
                files = found.setdefault((part.name, item.capture, item.camera), {})
                files[item.folder, item.index] = path
    return [_capture_files(*key, found[key], forms) for key in sorted(found)]


def _walk(part: Path) -> Iterator[tuple[Path, Item]]:
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
    forms: Sequence[Form],
) -> CaptureFiles:
    frames: dict[tuple[int, int], tuple[int, int, Path, Form]] = {}
    for form in forms:
        for (folder, index), path in files.items():
            if index is not None and FRAME_FOLDERS[folder][1] == form:
                view = FRAME_FOLDERS[folder][0]
                frames.setdefault((index, view), (index, view, path, form))
    maps = tuple((folder, path) for (folder, index), path in files.items() if index is None)
    return CaptureFiles(part, capture, camera, tuple(frames[key] for key in sorted(frames)), maps)


# Archives


def is_archive(path: Path) -> bool:
    """True for a file that is called like an archive."""
    return path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES)


def list_archives(source: Path) -> list[Path]:
    """Returns the archives of a folder in order of their names, or the one that the source is."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if is_archive(path))
    return [source] if is_archive(source) else []


def read_archive(
    path: Path, wanted: Callable[[Item], bool], moved: Callable[[int], None]
) -> Generator[tuple[Item, str, ReadSome], None, None]:
    """Yields the wanted files of an archive as they come: what it is, its name, and how to read it, now.

    Nothing is unpacked to disk, and a file of which only the beginning is read is not kept in memory.

    Args:
        path: The archive.
        wanted: Tells which files.
        moved: Called with the bytes of the archive read so far, before each file.

    Raises:
        ArchiveError: If it is cut short or damaged, also by the reading of a file; all that came before is
            good.
    """
    stem = re.sub(r"(?i)\.(tar\.gz|tgz|tar)$", "", path.name)
    with ExitStack() as files, _noticing_damage(path):
        raw = files.enter_context(path.open("rb"))
        # gzip, unlike tarfile's own stream, notices when its data end too early or fail their checksum.
        whole = files.enter_context(gzip.open(raw)) if _is_gzip(raw) else raw
        tar = files.enter_context(tarfile.open(fileobj=whole, mode="r|"))
        for member in tar:
            moved(raw.tell())
            item = parse_path(member.name) if member.isfile() else None
            if item and wanted(item):
                content = tar.extractfile(member)
                assert content is not None  # it is a file
                item = replace(item, part=item.part or stem)
                yield item, f"{path.name}:{member.name}", partial(_read_some, path, content.read)
        while whole.read(1 << 20):  # to the checksum
            pass
        moved(raw.tell())


def _read_some(path: Path, read: ReadSome, count: int = -1) -> bytes:
    with _noticing_damage(path):
        return read(count)


@contextmanager
def _noticing_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{path} is damaged or cut short: {error}") from None


def _is_gzip(file: IO[bytes]) -> bool:
    begins = file.read(2)
    file.seek(0)
    return begins == b"\x1f\x8b"


# Frames


@dataclass(frozen=True)
class FrameHeader:
    """What the first bytes of a frame's file tell.

    Attributes:
        frame: Rows and columns of the whole frame, landscape and upsampled.
        bits: Of a code: 16, or 8 if somebody has converted the file.
    """

    frame: Frame
    bits: int


HEADER_BYTES = PNG_HEADER.size


def read_header(data: bytes, name: str, form: Form) -> FrameHeader:
    """Returns the size and the depth of a frame, from the first HEADER_BYTES of its file."""
    if len(data) < HEADER_BYTES:
        raise CaptureFileError(f"{name} is a damaged PNG, or cut short")
    signature, _, kind, cols, rows, bits, colour = PNG_HEADER.unpack_from(data)
    if signature != b"\x89PNG\r\n\x1a\n" or kind != b"IHDR":
        raise CaptureFileError(f"{name} is not a PNG")
    if bits not in (8, 16):
        raise CaptureFileError(f"{name} has {bits} bits, not 16 (nor 8)")
    if bits == 16 and colour != 0:
        raise CaptureFileError(f"{name} is not grey: its PNG colour type is {colour}, not 0")
    if form == "up" and cols % 2:
        raise CaptureFileError(f"{name} has {cols} columns; an upsampled frame has an even number")
    return FrameHeader((cols if form == "up" else 2 * cols, rows), bits)


def decode_frame(data: bytes, name: str, form: Form, rotate: Rotation) -> NativeFrame:
    """Returns the native codes of a frame, landscape.

    Codes of an 8-bit file become the high bytes of 16-bit ones, which they have been once.

    Args:
        data: The whole file.
        name: What to call it in an error.
        form: Native or upsampled.
        rotate: Which way to turn it.

    Raises:
        CaptureFileError: If it is damaged, or if it is not exactly the upsampled form of any native codes.
    """
    try:
        picture = decode_picture(data, name)
    except ValueError as error:
        raise CaptureFileError(str(error)) from None
    if picture.dtype == np.uint8:
        codes = (halve_columns(picture) if form == "up" else picture).astype(np.uint16) << 8
    elif form == "up":
        codes = _exact_native(picture, name)
    else:
        codes = picture
    return rotate_frame(codes, rotate)


def _exact_native(picture: UInt16[np.ndarray, "row col"], name: str) -> UInt16[np.ndarray, "row native_col"]:
    native = upsampled_to_native(picture)
    if native is None or not np.array_equal(native_to_upsampled(native), picture):
        raise CaptureFileError(
            f"{name} is not a native frame upsampled along its columns with weights 1/4 and 3/4"
        )
    return native


def native_to_upsampled(
    native: UInt16[np.ndarray, "row native_col"],
) -> UInt16[np.ndarray, "row col"]:
    """Returns a file's codes with twice as many columns, as raw_up_* has them.

    Column 2k is a quarter of column k - 1 and three quarters of column k, column 2k + 1 three quarters of
    column k and a quarter of column k + 1, held at the edges. Exact for codes divisible by 4.
    """
    codes = np.pad(native.astype(np.uint32), ((0, 0), (1, 1)), mode="edge")
    three = 3 * codes[:, 1:-1] + 2  # 2 rounds
    out = np.empty((len(native), 2 * native.shape[1]), dtype=np.uint16)
    out[:, ::2] = (codes[:, :-2] + three) >> 2
    out[:, 1::2] = (three + codes[:, 2:]) >> 2
    return out


def upsampled_to_native(
    upsampled: UInt16[np.ndarray, "row col"],
) -> UInt16[np.ndarray, "row native_col"] | None:
    """Returns the native codes that give an upsampled frame; None if it is plain that none do.

    Inside, 3 out[2k+1] - out[2k+2] = 2 native[k]; the edges are held, so the last column is the last native
    one. `native_to_upsampled` of the result tells whether it is right.
    """
    if upsampled.shape[1] % 2:
        return None
    out = upsampled.astype(np.int32)
    native = np.empty((len(out), out.shape[1] // 2), dtype=np.int32)
    native[:, :-1] = (3 * out[:, 1:-1:2] - out[:, 2::2]) >> 1
    native[:, -1] = out[:, -1]
    if native.size and (native.min() < 0 or native.max() > 0xFFFF):
        return None
    return native.astype(np.uint16)


def halve_columns(picture: UInt8[np.ndarray, "row col"]) -> UInt8[np.ndarray, "row native_col"]:
    """Returns the means of pairs of columns: 8 bits of an upsampled frame do not tell its native codes."""
    codes = picture.astype(np.uint16)
    return ((codes[:, ::2] + codes[:, 1::2] + 1) >> 1).astype(np.uint8)


# Orientation


def rotate_frame(picture: Shaped[np.ndarray, "row col"], rotate: Rotation) -> Shaped[np.ndarray, "col row"]:
    """Returns a file's picture as landscape."""
    return np.ascontiguousarray(np.rot90(picture, 1 if rotate == "ccw" else -1))


def unrotate_frame(picture: Shaped[np.ndarray, "col row"], rotate: Rotation) -> Shaped[np.ndarray, "row col"]:
    """Returns a landscape picture as the file has it: the inverse of `rotate_frame`."""
    return np.ascontiguousarray(np.rot90(picture, -1 if rotate == "ccw" else 1))


def rotate_places(places: Places, frame: Frame, size: int, rotate: Rotation) -> Places:
    """Returns where patches of a file lie once it is landscape.

    Args:
        places: Top left pixels in the file.
        frame: Rows and columns of the landscape frame.
        size: Rows and columns of a patch.
        rotate: Which way the file is turned.
    """
    row, col = places.T
    turned = (frame[0] - size - col, row) if rotate == "ccw" else (col, frame[1] - size - row)
    return np.stack(turned, axis=1)


# Labels


def decode_depth(data: bytes, name: str) -> UInt8[np.ndarray, "map_row map_col"]:
    """Returns the codes of a depth map, as they lie in the file."""
    try:
        codes = decode_map(data, name)
    except ValueError as error:
        raise CaptureFileError(str(error)) from None
    if codes.dtype != np.uint8:
        raise CaptureFileError(f"{name} holds {codes.dtype}; a depth map holds 8-bit codes")
    return codes


def decode_confidence(data: bytes, name: str) -> Float[np.ndarray, "map_row map_col"]:
    """Returns a confidence map, as it lies in the file."""
    try:
        confidence = decode_map(data, name)
    except ValueError as error:
        raise CaptureFileError(str(error)) from None
    if not np.issubdtype(confidence.dtype, np.floating):
        raise CaptureFileError(f"{name} holds {confidence.dtype}; a confidence map holds floats")
    return confidence


def published_labels(
    depth: UInt8[np.ndarray, "map_row map_col"],
    confidence: Float[np.ndarray, "_ _"],
    frame: Frame,
    grid: FocusGrid,
    nearest_m: float,
    farthest_m: float,
    rotate: Rotation,
    size: int,
    stride: int,
) -> Labels:
    """Returns the labels of all patches of a capture, their places in the landscape frame.

    Args:
        depth: Codes, as they lie in the file.
        confidence: As it lies in the file.
        frame: Rows and columns of the landscape frame.
        grid: The ladder.
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
    return replace(labels, places=rotate_places(labels.places, frame, size, rotate))
