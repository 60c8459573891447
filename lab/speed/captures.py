"""Speed and size of the capture store against a folder of PNG files, in one run.

    python -m lab.speed.captures [captures] [slices]

Captures have the published size (756 x 2016 native codes of 10 bits shifted by 4, 2 views; 49 slices unless
said otherwise), in a temporary folder: smooth texture with noise. Only one is made; the others are copies of
its files. The PNG files hold native codes too; those that a patch needs are decoded, then it is cut out and
upsampled as the store does. "Cold" reads files that the system has been asked to forget.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

from dioptre.grid import FocusGrid
from dioptre.stack import codes_to_pixels
from dioptre.store.captures import CaptureWriter
from dioptre.store.patches import PatchStore, StoreFormat, open_patches
from lab.speed.timing import best_ms, write_line

Codes = np.ndarray[tuple[int, int], np.dtype[np.uint16]]
Pixels = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

FRAME, SIZE = (1512, 2016), 128
BLACK, WHITE = 1024.0, 16368.0
PATCHES = 40  # of a capture
BATCH = 64  # patches of a call for single slices
STACKS = 2  # and for full stacks


def textures(slices: int, rng: np.random.Generator) -> list[list[Codes]]:
    """Returns (slice, view) native frames: one texture, blurred more and more, with noise of its own."""
    texture = rng.random((FRAME[0] // 2, FRAME[1]))
    steps = [gaussian_filter(texture, sigma) for sigma in (1, 2, 4)]
    steps = [0.4 + 0.1 * (step - step.mean()) / step.std() for step in steps]
    noise = rng.normal(0, 6, texture.shape)
    return [
        [_read_out(steps[k % 3], np.roll(noise, (k, 7 * view))) for view in range(2)] for k in range(slices)
    ]


def _read_out(light: Pixels, noise: Pixels) -> Codes:
    return np.clip(64 + 959 * light + noise, 0, 1023).astype(np.uint16) << 4


def rows_of(name: str, rng: np.random.Generator) -> list[dict[str, object]]:
    """Returns patches anywhere in the frame."""
    return [
        {
            "scene": name, "capture": name, "split": "train",
            "row": 2 * int(rng.integers(0, (FRAME[0] - SIZE) // 2)),
            "col": int(rng.integers(0, FRAME[1] - SIZE)),
            "truth": 0, "where_x": 0.0, "where_y": 0.0,
        }
        for _ in range(PATCHES)
    ]  # fmt: skip


def build(path: Path, frames: list[list[Codes]], captures: int, rng: np.random.Generator) -> PatchStore:
    """Returns a store of captures that all hold the same frames."""
    grid = FocusGrid.uniform(n=len(frames))
    writer = CaptureWriter(path, StoreFormat(grid, SIZE, 2, BLACK, WHITE), FRAME, {})
    writer.begin()
    first, *others = (f"capture-{number}" for number in range(captures))
    for index, view in writer.missing_frames(first):
        writer.write_frame(first, index, view, frames[index][view])
    for other in others:
        for kind in ("codes", "json"):
            content = (path / "captures" / f"{first}.{kind}").read_bytes()
            (path / "captures" / f"{other}.{kind}").write_bytes(content)
    for name in (first, *others):
        writer.complete(name, rows_of(name, rng))
    writer.finish()
    return open_patches(path)


def write_pngs(path: Path, frames: list[list[Codes]]) -> None:
    """Writes a frame to a file each."""
    path.mkdir()
    for index, views in enumerate(frames):
        for view, codes in enumerate(views):
            cv2.imwrite(str(path / f"{index}_{view}.png"), codes)


def read_from_pngs(path: Path, row: int, col: int, indices: list[int]) -> Pixels:
    """Returns the pixels of a patch, read as the store's: (slice, view, row, col)."""
    rows = np.clip(np.arange(row // 2 - 1, (row + SIZE) // 2 + 1), 0, FRAME[0] // 2 - 1)
    pixels = np.empty((len(indices), 2, SIZE, SIZE), np.float32)
    for at, index in enumerate(indices):
        for view in range(2):
            frame = cv2.imread(str(path / f"{index}_{view}.png"), cv2.IMREAD_UNCHANGED)
            assert frame is not None
            native = frame[rows, col : col + SIZE].astype(np.float32)
            pairs = np.empty((SIZE // 2, 2, SIZE), np.float32)
            pairs[:, 0] = 0.25 * native[:-2] + 0.75 * native[1:-1]
            pairs[:, 1] = 0.75 * native[1:-1] + 0.25 * native[2:]
            pixels[at, view] = codes_to_pixels(pairs.reshape(SIZE, SIZE), BLACK, WHITE)
    return pixels


def forget(path: Path) -> None:
    """Asks the system to drop all files of a folder from its memory, where it can be asked."""
    if not hasattr(os, "posix_fadvise"):
        return
    for name in path.rglob("*.*"):
        with name.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_ms(path: Path, work: Callable[[], object], repeats: int) -> float:
    """Returns the mean time of some runs, in milliseconds, each after the files were forgotten."""
    total = 0.0
    for _ in range(repeats):
        forget(path)
        start = time.perf_counter()
        work()
        total += time.perf_counter() - start
    return 1e3 * total / repeats


def resident_mib() -> float:
    """Returns what the process holds in memory, its part of files included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def speeds(store: PatchStore, pngs: Path, rng: np.random.Generator) -> None:
    """Prints the table of speeds."""
    slices = len(store.format.grid)

    def patches(count: int, indices: int) -> object:
        rows = rng.integers(0, len(store), count)
        return store.stack(rows, None if indices == slices else rng.integers(0, slices, (count, indices)))

    def from_pngs(indices: int) -> object:
        patch = store.table.slice(int(rng.integers(len(store))), 1).to_pylist()[0]
        wanted = rng.choice(slices, indices, replace=False).tolist()
        return read_from_pngs(pngs, patch["row"], patch["col"], wanted)

    write_line(f"{'patches/s':<18}{'store, cold':>12}{'store':>12}{'PNG':>12}{'store/PNG':>12}")
    for name, indices, batch, repeats in (
        ("one random slice", 1, BATCH, 5),
        ("full stack", slices, STACKS, 1),
    ):
        cold = 1e3 * batch / cold_ms(store.path, partial(patches, batch, indices), 3)
        warm = 1e3 * batch / best_ms(partial(patches, batch, indices), 20)
        png = 1e3 / best_ms(partial(from_pngs, indices), repeats)
        write_line(f"{name:<18}{cold:>12.0f}{warm:>12.0f}{png:>12.2f}{warm / png:>12.0f}")


def memory(store: PatchStore, rng: np.random.Generator) -> None:
    """Prints what the process holds after reading from one capture, and from all."""
    if not Path("/proc/self/statm").exists():
        return
    store = open_patches(store.path)
    for captures in (1, len(store) // PATCHES):
        for _ in range(30 * captures):
            store.stack(rng.integers(0, captures * PATCHES, 1))
        write_line(
            f"resident after 30 full stacks from each of {captures} captures: {resident_mib():.0f} MiB"
        )


def sizes(store: PatchStore, pngs: Path) -> None:
    """Prints what the store and the PNG files take on disk."""
    captures, slices = len(store) // PATCHES, len(store.format.grid)
    native = captures * slices * 2 * np.dtype(np.uint16).itemsize * FRAME[0] // 2 * FRAME[1]
    packed = sum(file.stat().st_size for file in store.path.rglob("*") if file.is_file())
    as_pngs = captures * sum(file.stat().st_size for file in pngs.iterdir())
    write_line(f"{captures} captures of {slices} slices: {native / 1e9:.2f} GB as native uint16")
    write_line(f"on disk: store {packed / native:.1%} of that, PNG {as_pngs / native:.1%}")


def check(store: PatchStore, pngs: Path) -> None:
    """Sees that both give the same pixels."""
    patch = store.table.slice(3, 1).to_pylist()[0]
    assert np.array_equal(
        store.stack([3], [1]).pixels[0], read_from_pngs(pngs, patch["row"], patch["col"], [1])
    )


def main(arguments: Sequence[str]) -> None:
    """Prints the tables."""
    captures, slices = (int(given) for given in (*arguments, *("8", "49")[len(arguments) :]))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        pngs = Path(folder) / "pngs"
        frames = textures(slices, rng)
        store = build(Path(folder) / "store", frames, captures, rng)
        write_pngs(pngs, frames)
        del frames  # or the process would hold them when its memory is measured
        sizes(store, pngs)
        check(store, pngs)
        speeds(store, pngs, rng)
        memory(store, rng)


if __name__ == "__main__":
    main(sys.argv[1:])
