"""How good are labels that a rig makes? Simulated captures, reconstructed and compared with the truth.

    python -m benchmarks.labels --captures 1 --small          one capture of small wide frames: some minutes
    python -m benchmarks.labels --captures 20                 whole frames: hours
    python -m benchmarks.labels --keep DIR                    keep captures and maps, and go on with them

Each capture has a rig of its own (another seed). Printed: errors of rotation, place and inverse depth, the
share of sure pixels and how many of them are within 0.1 dioptres, the patches that pass the filter and how
many of their labels are within 1 of the truth; then classical measures, scored against the reconstructed
labels and against the true ones on the same patches: what of an error is the label's.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from dioptre.dataset.maps import read_map
from dioptre.dataset.published import CAMERAS, DEPTH_FACTOR
from dioptre.dataset.store import open_patches
from dioptre.errors import FileError
from dioptre.methods import scores
from dioptre.optics import CameraModel, FocusGrid
from dioptre.pipeline.importing import import_captures
from dioptre.pipeline.reconstructing import reconstruct
from dioptre.pipeline.rigging import simulate_captures
from dioptre.pipeline.settings import Captures, Import, Reconstruct, Simulation

KEYS = ("local-norm-dist-sq-4", "wavelet-sum-2", "laplacian-energy", "intensity-variance")
CAPTURE, PART = "world000_0", "train1"
SURE, CLOSE = 0.99, 0.1
SMALL = CameraModel(0.71, 0.0455, 2.8, (240, 320), FocusGrid.uniform(3.91, 0.102, 49), 0.74, 0.25, "wide")


@dataclass(frozen=True, eq=False)
class Compared:
    """What came of one capture.

    Attributes:
        rotation: Degrees by which each outer camera is off.
        place: Millimetres, likewise.
        dioptres: Errors of sure pixels, of all cameras.
        sure: Share of sure pixels.
        kept: Share of patches that pass the filter.
        labels: (patch, 2) reconstructed and true label of these.
        answers: (patch, measure).
    """

    rotation: Float[np.ndarray, " camera"]
    place: Float[np.ndarray, " camera"]
    dioptres: Float[np.ndarray, " pixel"]
    sure: float
    kept: float
    labels: Int[np.ndarray, "patch 2"]
    answers: Int[np.ndarray, "patch measure"]


def compare(folder: Path, seed: int, camera: CameraModel) -> Compared | None:
    """Returns how one capture compares with its truth; None if it was left out."""
    folder.mkdir(parents=True, exist_ok=True)
    toml = folder / "camera.toml"
    camera.to_toml(toml)
    small = camera.name == SMALL.name
    simulation = Simulation(seed=seed, camera=str(toml), split="train", prior="far", exact_lens=small)
    captures, maps = folder / "captures", folder / "maps"
    if not (captures / "manifest.json").is_file():
        simulate_captures(captures, simulation, Captures(captures=1, rig=True), None, _quiet)
    if not (maps / "manifest.json").is_file():
        try:
            reconstruct(captures, maps, Reconstruct(camera=str(toml)), None, _quiet)
        except FileError as error:
            print(f"seed {seed}: {error}")
            return None
    rotation, place = _poses(captures, maps)
    errors, sure = _depths(captures, maps)
    kept, labels, answers = _patches(folder, captures, maps)
    return Compared(rotation, place, errors, sure, kept, labels, answers)


def _quiet(_done: int, _total: int) -> None:
    pass


def _poses(captures: Path, maps: Path) -> tuple[Float[np.ndarray, " camera"], Float[np.ndarray, " camera"]]:
    found = json.loads((maps / PART / "reconstruction" / CAPTURE / "poses.json").read_text())["cameras"]
    truth = {
        name: json.loads((captures / "truth" / CAPTURE / f"{name}.json").read_text()) for name in CAMERAS
    }
    first = np.array(truth[CAMERAS[0]]["centre_mm"])
    rotation, place = [], []
    for name in CAMERAS[1:]:
        turns = [Rotation.from_matrix(np.array(one[name]["turn"])) for one in (truth, found)]
        rotation.append(np.degrees((turns[0] * turns[1].inv()).magnitude()))
        away = np.array(found[name]["centre_mm"]) - (np.array(truth[name]["centre_mm"]) - first)
        place.append(np.linalg.norm(away))
    return np.array(rotation), np.array(place)


def _depths(captures: Path, maps: Path) -> tuple[Float[np.ndarray, " pixel"], float]:
    errors, sure = [], []
    middle = DEPTH_FACTOR // 2
    for name in CAMERAS:
        truth = np.load(captures / "truth" / CAPTURE / f"{name}.npy")[
            middle::DEPTH_FACTOR, middle::DEPTH_FACTOR
        ]
        found = np.load(maps / PART / "reconstruction" / CAPTURE / f"{name}.npy")
        known = (
            np.rot90(read_map(maps / PART / f"merged_conf/{CAPTURE}/result_merged_conf_{name}.exr")) >= SURE
        )
        errors.append((found - truth)[known])
        sure.append(known.mean())
    return np.concatenate(errors).astype(np.float64), float(np.mean(sure))


def _patches(
    folder: Path, captures: Path, maps: Path
) -> tuple[float, Int[np.ndarray, "patch 2"], Int[np.ndarray, "patch measure"]]:
    stores = folder / "labelled", folder / "true"
    for store, settings in zip(stores, (Import(maps=str(maps)), Import()), strict=True):
        if not (store / "manifest.json").is_file():
            import_captures(captures, store, settings, None, _quiet)
    mine, true = (open_patches(store) for store in stores)
    right = {(row["row"], row["col"]): row["truth"] for row in true.table.to_pylist()}
    rows = mine.table.to_pylist()
    labels = np.array([(row["truth"], right[row["row"], row["col"]]) for row in rows])
    answers = []
    for first in range(0, len(rows), 16):
        stack = mine.stack(list(range(first, min(first + 16, len(rows))))).green()
        found = scores(stack, list(KEYS))
        answers.append(np.stack([found[key].argmax(axis=1) for key in KEYS], axis=1))
    return len(rows) / len(right), labels, np.concatenate(answers)


def _print(found: list[Compared], asked: int) -> None:
    errors = np.concatenate([one.dioptres for one in found])
    labels = np.concatenate([one.labels for one in found])
    answers = np.concatenate([one.answers for one in found])
    print(f"captures: {len(found)} of {asked} reconstructed")
    for name, values in (
        ("rotation, degrees", [one.rotation for one in found]),
        ("place, mm", [one.place for one in found]),
    ):
        every = np.concatenate(values)
        print(f"{name}: median {np.median(every):.4f}, largest {every.max():.4f}")
    print(f"sure pixels: {np.mean([one.sure for one in found]):.1%}")
    close = np.mean(np.abs(errors) < CLOSE)
    print(f"  inverse depth: median error {np.median(errors):+.4f} D, within {CLOSE} D {close:.1%}")
    off = np.abs(labels[:, 0] - labels[:, 1])
    kept = np.mean([one.kept for one in found])
    print(f"patches kept: {kept:.1%} (the paper: 50 % and 68 %), {len(labels)} in all")
    print(f"  label equal to the truth {np.mean(off == 0):.1%}, within 1 {np.mean(off <= 1):.1%}")
    print(f"{'measure':24s} MAE against reconstructed, true labels; within 1: reconstructed, true")
    for at, key in enumerate(KEYS):
        both = np.abs(answers[:, at, None] - labels)
        within = (both <= 1).mean(axis=0)
        print(f"{key:24s} {both[:, 0].mean():.3f} {both[:, 1].mean():.3f}   {within[0]:.3f} {within[1]:.3f}")


def main() -> None:
    """Simulates, reconstructs, compares, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--captures", type=int, default=1)
    parser.add_argument("--seed", type=int, default=6, help="of the first rig and world; the others follow")
    parser.add_argument(
        "--small", action="store_true", help="small frames of a wide lens instead of whole ones"
    )
    parser.add_argument("--keep", type=Path, default=None)
    given = parser.parse_args()
    camera = SMALL if given.small else CameraModel.pixel3()
    with TemporaryDirectory() as spare:
        home = given.keep or Path(spare)
        every = [
            compare(home / str(seed), seed, camera) for seed in range(given.seed, given.seed + given.captures)
        ]
    found = [one for one in every if one is not None]
    if found:
        _print(found, given.captures)


if __name__ == "__main__":
    main()
