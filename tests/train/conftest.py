from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from dioptre.grid import FocusGrid
from dioptre.store.patches import PatchStore, StoreFormat, StoreWriter, open_patches

if TYPE_CHECKING:
    import torch

POSITIONS, SIZE = 7, 32
collect_ignore_glob = ["*.py"] if find_spec("torch") is None else []  # a base install has no torch


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)  # pytest runs on all cores already


def looks(batch: int, slices: int, views: int, positions: int, size: int = 32) -> "tuple[torch.Tensor, ...]":
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    indices = torch.stack([torch.randperm(positions)[:slices] for _ in range(batch)])
    pixels, where = torch.rand(batch, slices, views, size, size), torch.rand(batch, 2) * 2 - 1
    return pixels, indices, where, torch.ones(batch, 2)


def blurred_stack(truth: int, rng: np.random.Generator) -> np.ndarray:
    """A texture that is sharp at one position; left and right part on either side of it."""
    texture = gaussian_filter(rng.random((SIZE, SIZE)), 0.7, mode="wrap")
    texture = 0.3 + (texture - texture.mean()) * 1.2
    slices = []
    for k in range(POSITIONS):
        soft = gaussian_filter(texture, 0.2 + 0.5 * abs(k - truth), mode="wrap")
        slices.append([soft, np.roll(soft, k - truth, axis=1)])
    return np.clip(np.array(slices) + rng.normal(0, 0.004, (POSITIONS, 2, SIZE, SIZE)), 0, 1)


def write_store(folder: Path, patches: int, seed: int, **further: list[object]) -> PatchStore:
    """Writes a store; further columns have a value for each patch."""
    rng = np.random.default_rng(seed)
    form = StoreFormat(FocusGrid.uniform(n=POSITIONS), SIZE, 2, 1000.0, 17000.0, rows_per_native=1)
    writer = StoreWriter(folder, form, {"seed": seed}, patches, shard_size=patches)
    truths = rng.integers(0, POSITIONS, patches)
    codes = np.stack([1000 + 16000 * blurred_stack(int(truth), rng) for truth in truths])
    rows = [
        {
            "scene": f"scene{at}",
            "capture": f"scene{at}_0",
            "split": "train" if at % 4 else "validation",
            "row": 2 * at,
            "col": at,
            "truth": int(truth),
            "where_x": float(rng.uniform(-1, 1)),
            "where_y": float(rng.uniform(-1, 1)),
            **{name: values[at] for name, values in further.items()},
        }
        for at, truth in enumerate(truths)
    ]
    writer.missing_shards()
    writer.write_shard(0, codes.round().astype(np.uint16), rows)
    writer.finish()
    return open_patches(folder)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> PatchStore:
    return write_store(tmp_path_factory.mktemp("train") / "store", 480, seed=0)


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> PatchStore:
    return write_store(tmp_path_factory.mktemp("few") / "store", 48, seed=0)
