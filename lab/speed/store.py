"""Speed of reading patches from a store: single random slices, as training does, and full stacks.

    python -m lab.speed.store [patches]

Patches of the published size (49 slices, 2 views, 66 native rows, 128 columns) in a temporary folder. The
cold columns read files that the system has been asked to forget; the warm ones those it has in memory.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dioptre.grid import FocusGrid
from dioptre.store.patches import PatchStore, StoreFormat, StoreWriter, open_patches
from dioptre.store.shards import CHECKSUMS
from lab.speed.timing import write_line

BATCH = 128  # patches of a call for single slices
STACKS = 4  # and for full stacks
FORMAT = StoreFormat(FocusGrid.learnaf(), size=128, views=2, black=1024.0, white=16368.0)
ROW = {
    "scene": "noise",
    "capture": "center",
    "split": "train",
    "row": 0,
    "col": 0,
    "truth": 0,
    "where_x": 0.0,
    "where_y": 0.0,
}


def build(path: Path, patches: int, rng: np.random.Generator) -> PatchStore:
    """Returns a store of noise."""
    writer = StoreWriter(path, FORMAT, {}, total=patches)
    for number in writer.missing_shards():
        count = len(writer.patches(number))
        codes = rng.integers(0, 16384, (count, *FORMAT.patch_shape), dtype=np.uint16)
        writer.write_shard(number, codes, [ROW] * count)
    writer.finish()
    return open_patches(path)


def forget(path: Path) -> None:
    """Asks the system to drop the shards from its memory, where it can be asked."""
    if not hasattr(os, "posix_fadvise"):
        return
    for shard in path.glob("shards/*.npy"):
        with shard.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def patches_per_second(read: Callable[[], object], batch: int, calls: int) -> float:
    """Returns how many patches are read in a second, over some calls."""
    start = time.perf_counter()
    for _ in range(calls):
        read()
    return batch * calls / (time.perf_counter() - start)


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    patches = int(arguments[0]) if arguments else 384
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        start = time.perf_counter()
        store = build(path, patches, rng)
        rate = patches / (time.perf_counter() - start)
        write_line(f"{patches} patches written, {rate:.0f} patches/s (with drawing the noise)")

        def slices() -> object:
            return store.stack(rng.integers(0, patches, BATCH), rng.integers(0, 49, (BATCH, 1)))

        def stacks() -> object:
            return store.stack(rng.integers(0, patches, STACKS))

        write_line(f"{'read':<24}{'cold patches/s':>16}{'warm patches/s':>16}")
        for name, read, batch, calls in (
            ("one random slice", slices, BATCH, 8),
            ("full", stacks, STACKS, 20),
        ):
            store = open_patches(path)
            forget(path)
            cold = patches_per_second(read, batch, calls)
            patches_per_second(read, batch, 10 * calls)
            warm = max(patches_per_second(read, batch, calls) for _ in range(5))
            write_line(f"{name:<24}{cold:>16.0f}{warm:>16.0f}")
        for name, batch, slices_read in (("one random slice", BATCH, 1), ("full", STACKS, 0)):
            cost = checking_cost(path, batch, slices_read)
            write_line(f"{name}: checksums take {100 * cost:+.1f} % of the first reading, none afterwards")


def checking_cost(path: Path, batch: int, slices: int, repeats: int = 15) -> float:
    """Returns how much longer reads take that check their pages for the first time, files being in memory.

    It is the processor's time, the least of all repeats: a busy machine does not change that.

    Args:
        path: The store.
        batch: Patches of a call.
        slices: Random slices of each; 0 for all.
        repeats: Times that either way is timed, by turns.
    """
    unchecked = open_patches(path)
    bare = {key: value for key, value in unchecked.manifest.items() if key != CHECKSUMS}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats):
        for checked in (True, False):
            store = open_patches(path) if checked else PatchStore(path, FORMAT, bare, unchecked.table)
            rng = np.random.default_rng(1)
            rows = [rng.integers(0, len(store), batch) for _ in range(8)]
            wanted = [rng.integers(0, 49, (batch, slices)) if slices else None for _ in range(8)]
            start = time.process_time()
            for some, indices in zip(rows, wanted, strict=True):
                store.stack(some, indices)
            seconds[checked].append(time.process_time() - start)
    return min(seconds[True]) / min(seconds[False]) - 1


if __name__ == "__main__":
    main(sys.argv[1:])
