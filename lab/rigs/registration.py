"""What registration changes: mean absolute errors of contrast measures before and after.

    python -m lab.rigs.registration STORE REGISTERED [STORE REGISTERED ...]

REGISTERED was made from STORE by `dioptre register`, and no patch was dropped. The patches before are cut
from the same window of the sensor as the registered ones, so that both see as many pixels.
"""

import sys
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32, Int

from dioptre import open_patches, scores
from dioptre.stack import FocalStack
from dioptre.store.patches import PatchStore

MEASURES = (
    "local-norm-dist-sq-4",
    "local-log-ratio-2",
    "wavelet-log-ratio-3",
    "wavelet-sum-3",
    "gradient-magnitude-mean",
    "laplacian-variance",
)
BATCH = 32


def batches(store: PatchStore) -> Iterator[Int[np.ndarray, " batch"]]:
    """Yields the rows of a store, some at a time."""
    for start in range(0, len(store), BATCH):
        yield np.arange(start, min(start + BATCH, len(store)))


def windows(
    store: PatchStore, registered: PatchStore, rows: Int[np.ndarray, " batch"]
) -> Float32[np.ndarray, "batch slice view size size"]:
    """Returns the part of each unregistered patch that lies where the registered one does in slice 0."""
    size = registered.format.size
    tops, lefts = (registered.column(name)[rows] - store.column(name)[rows] for name in ("row", "col"))
    places = zip(store.stack(rows).pixels, tops, lefts, strict=True)
    return np.stack([pixels[..., y : y + size, x : x + size] for pixels, y, x in places])


def errors(
    pixels: Float32[np.ndarray, "batch slice view size size"],
    store: PatchStore,
    rows: Int[np.ndarray, " batch"],
) -> Int[np.ndarray, "measure batch"]:
    """Returns each measure's absolute errors in indices."""
    found = scores(FocalStack.full(pixels, store.format.grid), list(MEASURES))
    truth = store.column("truth")[rows]
    return np.abs(np.stack([found[key].argmax(axis=1) for key in MEASURES]) - truth)


def main(paths: list[str]) -> None:
    """Prints a row for each measure, over the patches of all stores."""
    before, after = [], []
    for source, result in zip(paths[::2], paths[1::2], strict=True):
        store, registered = open_patches(source), open_patches(result)
        for rows in batches(store):
            before.append(errors(windows(store, registered, rows), store, rows))
            after.append(errors(registered.stack(rows).pixels, store, rows))
    old, new = np.concatenate(before, axis=1), np.concatenate(after, axis=1)
    print(
        f"{old.shape[1]} patches\n\n| measure | before | after | difference |\n| --- | ---: | ---: | ---: |"
    )
    for key, one, two in zip(MEASURES, old, new, strict=True):
        change = two - one
        doubt = change.std() / np.sqrt(change.size)
        print(f"| `{key}` | {one.mean():.3f} | {two.mean():.3f} | {change.mean():+.3f} ± {doubt:.3f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
