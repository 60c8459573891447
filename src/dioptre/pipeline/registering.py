"""A store of registered patches: the same stacks, with focal breathing undone.

A patch is a fixed part of the sensor, so what it shows drifts from slice to slice, by up to 44 pixels along
an axis on the paper's phone. A registered patch is therefore smaller: a window of slice 0 that all slices
show, as near to the patch's centre as that allows. Where a store holds whole captures, what is around the
patch makes up for that: patches keep their size and place, but for those too near to the frame's border. The
label is that of the patch.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt16

from dioptre.errors import FileError, InputError
from dioptre.groundtruth.register import (
    KERNEL_REACH,
    PHASE,
    Motion,
    Pixel,
    calibrated_motion,
    common_field,
    hold_inside,
    largest_window,
    place_window,
    resample,
    search_motion,
)
from dioptre.methods.measure import MIN_SIZE
from dioptre.optics import CameraModel, breathing
from dioptre.pipeline.settings import Registration
from dioptre.pipeline.shards import write_shards
from dioptre.store.lock import locked
from dioptre.store.patches import PatchStore, StoreWriter, open_patches

MULTIPLE = 8  # of which a size that is not asked for is one
SPARE = 8  # pixels of drift that a search may find beyond the calibrated one
ZOOM_FACTOR = "zoom_factor"  # the column that only registered stores have
WHITE = 65535.0  # of the registered codes, which begin at 0: finer than any sensor's


@dataclass(frozen=True)
class Registered:
    """What became of a store.

    Attributes:
        size: Rows and columns of a registered patch.
        kept: How many patches were registered.
        dropped: How many could not fill that size.
    """

    size: int
    kept: int
    dropped: int


@dataclass(frozen=True, eq=False)
class _Unregistered:
    """A store to be registered; pickled, it is opened again.

    Attributes:
        store: The patches; of whole captures with as much around them as breathing moves in.
        camera: With the store's grid.
        registration: How to register.
        centres: (patch, 2): the centre of each patch, (x, y) pixels from the centre of the frame.
        began: (patch, 2): the pixel (x, y) of each patch at which it began before it was widened.
        size: Rows and columns that patches had before.
    """

    store: PatchStore
    camera: CameraModel
    registration: Registration
    centres: Float[np.ndarray, "patch 2"]
    began: Int[np.ndarray, "patch 2"]
    size: int

    def __reduce__(self) -> tuple[Callable[[Path, Registration], "_Unregistered"], tuple[Path, Registration]]:
        return _open_unregistered, (self.store.path.absolute(), self.registration)

    def guess(self, row: int) -> Motion:
        """Returns the calibrated motion of a patch."""
        x, y = self.centres[row].tolist()
        return calibrated_motion(self.camera, (x, y), self.registration.point)

    @property
    def widened(self) -> bool:
        """Whether patches hold more than they did."""
        return self.store.format.size > self.size

    def room(self, row: int) -> int:
        """Returns the side of the largest window for a patch; one that was widened keeps its centre."""
        motion, n = self.guess(row), self.store.format.size
        if not self.widened:
            return largest_window(motion, n)
        first, last = common_field(motion, n)
        centre = self.began[row] + (self.size - 1) / 2
        return int(2 * min((centre - first).min(), (last - centre).min())) + 1

    def wanted(self, row: int, size: int) -> Pixel:
        """Returns the first pixel (x, y) of a window of this size around the centre that the patch had."""
        x, y = (self.began[row] + (self.size - size) // 2).tolist()
        return x, y


def register(
    source: Path,
    out: Path,
    registration: Registration,
    executor: Executor | None,
    done: Callable[[int, int], None],
    shard_size: int = 64,
) -> Registered:
    """Writes the registered patches of a store; a run that was stopped goes on where it was.

    Args:
        source: Any store that `open_patches` opens.
        out: The folder of the registered store.
        registration: How to register.
        executor: Who does it; None for this process. The result does not depend on it.
        done: Called with the number of patches written and of all.
        shard_size: Patches that are registered and written at a time.

    Raises:
        FileError: If there is no store, or it is registered already.
        InputError: If it is not from this camera, or no patch can fill the size.
    """
    registration.check()
    opened = _open_unregistered(source, registration)
    form = opened.store.format
    room = [opened.room(row) for row in range(len(opened.store))]
    size = registration.size or _default_size(opened, min(room))
    rows = tuple(row for row, most in enumerate(room) if most >= size)
    if size < MIN_SIZE or not rows:
        raise InputError(
            f"a registered patch has at least {MIN_SIZE} pixels a side, and {source} has room for "
            f"{max(room)} in the best patch and {min(room)} in the worst, not for {size}"
        )
    config = _config(opened, size)
    form = replace(form, size=size, black=0.0, white=WHITE, rows_per_native=1)
    with locked(out):
        writer = StoreWriter(out, form, config, len(rows), shard_size)
        write_shards(writer, partial(_write_shard, writer, opened, rows), executor, done)
    return Registered(size, len(rows), len(room) - len(rows))


def _default_size(unregistered: _Unregistered, room: int) -> int:
    """Returns the size of registered patches if none is asked for."""
    if unregistered.widened:
        return unregistered.size
    return (room - _spare(unregistered.registration)) // MULTIPLE * MULTIPLE


def _spare(registration: Registration) -> int:
    return SPARE if registration.how == "searched" else 0


# The store


def _open_unregistered(path: Path, registration: Registration) -> _Unregistered:
    store = open_patches(path)
    if ZOOM_FACTOR in store.table.column_names:
        raise FileError(f"{path} is registered already; register the store that it was made from")
    camera = _camera_of(store, registration.camera)
    size, first = store.format.size, _first_pixels(store)
    if store.frame is not None:
        store = _widened(store, camera, registration)
    began = first - _first_pixels(store)
    return _Unregistered(store, camera, registration, _centres(store, camera), began, size)


def _camera_of(store: PatchStore, name: str) -> CameraModel:
    """Returns the camera with the store's grid.

    Raises:
        InputError: If the grid or the frame shows that the store is from another camera.
    """
    camera = CameraModel.pixel3() if name == "pixel3" else CameraModel.from_toml(name)
    grid = store.format.grid
    if grid.known:
        camera = replace(camera, grid=grid)
    elif len(grid) != len(camera.grid):
        raise InputError(f"{store.path} has {len(grid)} slices, but the camera {name} {len(camera.grid)}")
    told = np.stack([store.column("where_x"), store.column("where_y")], axis=1)
    off = np.abs(_centres(store, camera) - told * np.array(camera.frame[::-1]) / 2).max()
    if off > 1:
        rows, cols = camera.frame
        raise InputError(
            f"the patches of {store.path} are not where the camera {name} has them, whose frame has "
            f"{rows} x {cols} pixels: one is {off:.0f} pixels off; name the camera that took them"
        )
    return camera


def _first_pixels(store: PatchStore) -> Int[np.ndarray, "patch 2"]:
    """Returns the first pixel (x, y) of each patch in the frame."""
    return np.stack([store.column("col"), store.column("row")], axis=1)


def _centres(store: PatchStore, camera: CameraModel) -> Float[np.ndarray, "patch 2"]:
    """Returns the centre of each patch, (x, y) pixels from the centre of the frame."""
    return _first_pixels(store) + (store.format.size - np.array(camera.frame[::-1])) / 2


def _widened(store: PatchStore, camera: CameraModel, registration: Registration) -> PatchStore:
    """Returns a store of captures with larger patches, that keep what breathing moves out of them."""
    form, frame = store.format, np.array(camera.frame[::-1])
    outward = _centres(store, camera) - np.array(registration.point)
    drift = (breathing(camera)[-1] - 1) * (outward + np.sign(outward) * form.size / 2)
    more = int(np.ceil(np.abs(drift).max())) + 2 * KERNEL_REACH + _spare(registration)
    size = min(form.size + more + more % 2, int(frame.min()))
    wanted = _first_pixels(store) + (form.size - size) / 2 + drift / 2
    first = np.clip(np.rint(wanted / 2) * 2, 0, frame - size).astype(np.int64)  # native rows come in pairs
    return store.with_windows(first[:, ::-1], size)


# Writing


def _config(unregistered: _Unregistered, size: int) -> dict[str, Any]:
    """Returns the configuration of the registered store, as plain JSON."""
    camera, manifest = unregistered.camera, unregistered.store.manifest
    return {
        "how": unregistered.registration.how,
        "camera": {
            "name": camera.name,
            "focal_length_mm": camera.focal_length_mm,
            "frame": list(camera.frame),
        },
        "principal_point": list(unregistered.registration.point),
        "size": size,
        "source": {"sha256": manifest.get("sha256"), "config": manifest.get("config")},
    }


def _write_shard(writer: StoreWriter, unregistered: _Unregistered, rows: Sequence[int], number: int) -> int:
    patches = [_register_patch(unregistered, rows[at], writer.format.size) for at in writer.patches(number)]
    writer.write_shard(number, np.stack([codes for codes, _ in patches]), [row for _, row in patches])
    return len(patches)


def _register_patch(
    unregistered: _Unregistered, row: int, size: int
) -> tuple[UInt16[np.ndarray, "slice view size size"], dict[str, object]]:
    """Returns the codes of one registered patch, and its row."""
    pixels = unregistered.store.stack([row]).pixels[0]
    n, guess = pixels.shape[-1], unregistered.guess(row)
    searched = unregistered.registration.how == "searched"
    motion = search_motion(pixels.mean(axis=1), guess) if searched else guess
    first = place_window(motion, n, size, unregistered.wanted(row, size))
    held = hold_inside(motion, n, first, size)
    found = {
        ZOOM_FACTOR: float(np.log(held.zoom[-1]) / np.log(guess.zoom[-1])),
        "held_px": float(np.abs(held.shift - motion.shift).max()),
    }
    codes = np.rint(np.clip(resample(pixels, held, first, size), 0.0, 1.0) * np.float32(WHITE))
    return codes.astype(np.uint16), _moved_row(unregistered, row, first, size) | found


def _moved_row(unregistered: _Unregistered, row: int, first: Pixel, size: int) -> dict[str, object]:
    """Returns a patch's row with the place of the window that begins at pixel `first` of the patch."""
    old = unregistered.store.table.slice(row, 1).to_pylist()[0]
    moved = np.add(first, PHASE + (size - unregistered.store.format.size) / 2)
    x, y = (unregistered.centres[row] + moved) / (np.array(unregistered.camera.frame[::-1]) / 2)
    place = {"row": old["row"] + first[1], "col": old["col"] + first[0]}
    return {**old, **place, "where_x": float(x), "where_y": float(y)}
