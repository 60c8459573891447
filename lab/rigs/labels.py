"""How good are labels that a rig makes? Simulated captures, reconstructed and compared with the truth.

    python -m lab.rigs.labels --rigs 4 --captures 5 --keep DIR   20 captures, frames binned by 4
    python -m lab.rigs.labels --rigs 1 --captures 1 --lens wide  one capture of small wide frames: minutes
    python -m lab.rigs.labels --lens phone                       whole frames: hours

A binned frame has the phone's field and aperture on a sixteenth of its pixels: poses and depth are found at
that resolution anyway, but a position blurs by a quarter of its pixels. `averaged` is the same for worlds
that are painted for the phone's own pixels, with their noise: what `lab.rigs.label_error` is about.

What is in DIR already is not made again. Printed: errors of rotation, place and inverse depth, the share of
sure pixels and how many of them are within 0.1 dioptres, the same for pixels where it is hard, the patches
that pass the filter and how many of their labels are within 1 of the truth; then classical measures, scored
against the reconstructed labels and against the true ones on the same patches: what of an error is the
label's.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from scipy.ndimage import maximum_filter, minimum_filter
from scipy.spatial.transform import Rotation

from dioptre.errors import FileError
from dioptre.grid import FocusGrid
from dioptre.methods import scores
from dioptre.optics import CameraModel
from dioptre.pipeline.importing import import_captures
from dioptre.pipeline.reconstructing import reconstruct
from dioptre.pipeline.settings import Captures, Import, Reconstruct, Simulation
from dioptre.pipeline.simulate_captures import simulate_captures
from dioptre.rig import CAMERAS
from dioptre.store.maps import read_map
from dioptre.store.patches import open_patches
from dioptre.store.published.layout import DEPTH_FACTOR, labels_of_depth

KEYS = (
    "local-norm-dist-sq-4", "wavelet-log-ratio-3", "wavelet-sum-2", "gradient-magnitude-mean",
    "laplacian-energy", "local-ratio-4", "intensity-variance", "histogram-entropy",
)  # fmt: skip
PART = "train1"
SURE, CLOSE = 0.99, 0.1
EDGE = 0.3  # dioptres within a few pixels: an occlusion
PLAIN = 6.0  # codes of 8 bits between neighbouring pixels, below which nothing is to be seen
RIM = 8  # pixels of a map at its border
BINNED = 4
PHONE = CameraModel.pixel3()
LENSES = {
    "phone": PHONE,
    "averaged": PHONE,
    "binned": replace(PHONE, pixel_pitch_um=11.2, frame=(376, 504), name="binned"),
    "wide": CameraModel(
        0.71, 0.0455, 2.8, (240, 320), FocusGrid.uniform(3.91, 0.102, 49), 0.74, 0.25, "wide"
    ),
}

Map = Float32[np.ndarray, "_ _"]
Hard = dict[str, Bool[np.ndarray, "_ _"]]


@dataclass(frozen=True, eq=False)
class Compared:
    """What came of one camera of a capture.

    Attributes:
        name: Rig, capture, camera.
        error: Dioptres, found less true.
        sure: Where it is sure.
        hard: Where it is hard, by why.
    """

    name: str
    error: Map
    sure: Bool[np.ndarray, "_ _"]
    hard: Hard


@dataclass(frozen=True, eq=False)
class Patches:
    """What came of patches.

    Attributes:
        total: How many there were.
        labels: (patch, 2) reconstructed and true label of those that pass the filter.
        answers: (patch, measure).
    """

    total: int
    labels: Int[np.ndarray, "patch 2"]
    answers: Int[np.ndarray, "patch measure"]


def simulation_of(seed: int, lens: str, folder: Path) -> tuple[Simulation, Captures]:
    """Returns what decides the captures of one rig, but for their number."""
    folder.mkdir(parents=True, exist_ok=True)
    toml = folder / "camera.toml"
    LENSES[lens].to_toml(toml)
    simulation = Simulation(
        seed=seed, camera=str(toml), split="train", prior="far", exact_lens=lens == "wide"
    )
    return simulation, Captures(captures=1, rig=True, binned=BINNED if lens == "averaged" else 1)


def make(folder: Path, seed: int, count: int, lens: str) -> bool:
    """Simulates and reconstructs the captures of one rig, if they are not there; False if none could be."""
    simulation, shape = simulation_of(seed, lens, folder)
    captures, maps = folder / "captures", folder / "maps"
    if not (captures / "manifest.json").is_file():
        simulate_captures(captures, simulation, replace(shape, captures=count), None, _quiet)
    if not (maps / "manifest.json").is_file():
        try:
            reconstruct(captures, maps, Reconstruct(camera=simulation.camera), None, _quiet)
        except FileError as error:
            print(f"rig {seed}: {error}")
            return False
    for one in json.loads((maps / "manifest.json").read_text())["summary"]["skipped"]:
        print(f"rig {seed}, left out: {one['reason']}")
    return True


def _quiet(_done: int, _total: int) -> None:
    pass


def _poses(folder: Path, found: dict[str, dict[str, object]]) -> Float[np.ndarray, "camera 2"]:
    """Returns the errors of the outer cameras: degrees and millimetres."""
    truth = {
        name: json.loads(next((folder / "captures/truth").glob(f"*/{name}.json")).read_text())
        for name in CAMERAS
    }
    first = np.array(truth[CAMERAS[0]]["centre_mm"])
    errors = []
    for name in CAMERAS[1:]:
        turns = [Rotation.from_matrix(np.array(one[name]["turn"])) for one in (truth, found)]
        away = np.array(found[name]["centre_mm"]) - (np.array(truth[name]["centre_mm"]) - first)
        errors.append((np.degrees((turns[0] * turns[1].inv()).magnitude()), np.linalg.norm(away)))
    return np.array(errors)


def _alone(folder: Path) -> Float[np.ndarray, "_ 2"]:
    """Returns the errors of what each capture of a rig says by itself."""
    every = []
    for told in sorted((folder / "maps" / PART / "reconstruction").glob("*/told.json")):
        said = json.loads(told.read_text())["told"]
        if said is None:
            continue
        spacing = json.loads((folder / "captures/rig.json").read_text())["spacing_mm"]
        turns, centres = (np.array(said["values"][at : at + 12]).reshape(4, 3) for at in (0, 12))
        matrices = Rotation.from_rotvec(turns).as_matrix()
        found = {
            name: {"turn": matrices[at].tolist(), "centre_mm": (spacing * centres[at]).tolist()}
            for at, name in enumerate(CAMERAS[1:])
        }
        every.append(_poses(folder, found))
    return np.concatenate(every)


def compare_depth(folder: Path, capture: str, name: str) -> Compared:
    """Returns how the depth of one camera compares with the truth."""
    middle, found_in = DEPTH_FACTOR // 2, folder / "maps" / PART / "reconstruction" / capture
    truth = np.load(folder / "captures/truth" / capture / f"{name}.npy")[middle::DEPTH_FACTOR]
    truth = truth[:, middle::DEPTH_FACTOR]
    found = np.load(found_in / f"{name}.npy")
    truth = truth[: found.shape[0], : found.shape[1]]
    known = folder / "maps" / PART / f"merged_conf/{capture}/result_merged_conf_{name}.exr"
    seen = np.asarray(cv2.imread(str(found_in / f"{name}.png"), cv2.IMREAD_GRAYSCALE), np.float32)
    steps = cv2.blur(
        np.hypot(cv2.Sobel(seen, -1, 1, 0, scale=0.125), cv2.Sobel(seen, -1, 0, 1, scale=0.125)), (9, 9)
    )
    steps = cv2.resize(steps, found.shape[::-1], interpolation=cv2.INTER_AREA)
    rim = np.ones(found.shape, bool)
    rim[RIM:-RIM, RIM:-RIM] = False
    hard = {
        "plain": steps < np.percentile(steps, 20),
        "at an edge of depth": maximum_filter(truth, 5) - minimum_filter(truth, 5) > EDGE,
        "at the rim": rim,
    }
    hard["elsewhere"] = ~np.logical_or.reduce(list(hard.values()))
    return Compared(f"{folder.name} {capture} {name}", found - truth, np.rot90(read_map(known)) >= SURE, hard)


def _patches(folder: Path) -> Patches:
    captures, store = folder / "captures", folder / "labelled"
    if not (store / "manifest.json").is_file():
        import_captures(captures, store, Import(maps=str(folder / "maps")), None, _quiet)
    mine = open_patches(store)
    rows = mine.table.to_pylist()
    right: dict[tuple[str, int, int], int] = {}
    for name in {row["capture"] for row in rows}:
        capture, _, camera = name.rpartition("-")
        truth = np.load(captures / "truth" / capture / f"{camera}.npy").astype(np.float64)
        true = labels_of_depth(truth, mine.format.grid)
        right |= {
            (name, row, col): index
            for (row, col), index in zip(true.corners.tolist(), true.truth.tolist(), strict=True)
        }
    labels = np.array([(row["truth"], right[row["capture"], row["row"], row["col"]]) for row in rows])
    answers = []
    for first in range(0, len(rows), 16):
        stack = mine.stack(list(range(first, min(first + 16, len(rows))))).green()
        found = scores(stack, list(KEYS))
        answers.append(np.stack([found[one].argmax(axis=1) for one in KEYS], axis=1))
    return Patches(len(right), labels, np.concatenate(answers))


def _print_depth(found: list[Compared]) -> None:
    sure = np.concatenate([one.error[one.sure] for one in found])
    print(f"sure pixels: {np.mean([one.sure.mean() for one in found]):.1%}")
    close = np.mean(np.abs(sure) < CLOSE)
    print(f"  inverse depth: median error {np.median(sure):+.4f} D, within {CLOSE} D {close:.1%}")
    medians = [np.median(one.error[one.sure]) for one in found if one.sure.sum() > 50]
    print(f"  median by camera: from {min(medians):+.4f} to {max(medians):+.4f} D")
    for why in found[0].hard:
        where = [one.hard[why] for one in found]
        share = np.mean([one.mean() for one in where])
        known = np.concatenate([one.sure[here] for one, here in zip(found, where, strict=True)])
        error = np.abs(np.concatenate([one.error[here] for one, here in zip(found, where, strict=True)]))
        print(
            f"  {why:20s} {share:6.1%} of all; sure {known.mean():.1%}; within {CLOSE} D: of the sure "
            f"{np.mean(error[known] < CLOSE):.1%}, of all {np.mean(error < CLOSE):.1%}"
        )


def _print_patches(found: list[Patches]) -> None:
    labels = np.concatenate([one.labels for one in found])
    answers = np.concatenate([one.answers for one in found])
    off = np.abs(labels[:, 0] - labels[:, 1])
    total = sum(one.total for one in found)
    print(f"patches kept: {len(labels)} of {total}, {len(labels) / total:.1%} (the paper: 50 % and 68 %)")
    print(f"  label equal to the truth {np.mean(off == 0):.1%}, within 1 {np.mean(off <= 1):.1%}")
    print(f"{'measure':24s} MAE against reconstructed, true labels; within 1: reconstructed, true")
    for at, key in enumerate(KEYS):
        both = np.abs(answers[:, at, None] - labels)
        within = (both <= 1).mean(axis=0)
        print(f"{key:24s} {both[:, 0].mean():.3f} {both[:, 1].mean():.3f}   {within[0]:.3f} {within[1]:.3f}")


def draw_capture(folder: Path, capture: str, name: str, path: Path) -> None:
    """Draws one camera: picture, true depth, found depth, found where sure, and the error, red if near."""
    middle = DEPTH_FACTOR // 2
    truth = np.load(folder / "captures/truth" / capture / f"{name}.npy")[
        middle::DEPTH_FACTOR, middle::DEPTH_FACTOR
    ]
    one = compare_depth(folder, capture, name)
    truth = truth[: one.error.shape[0], : one.error.shape[1]]
    most = float(np.percentile(truth, 99.5))

    def coloured(values: Map) -> np.ndarray:
        codes = np.clip(255 * values / most, 0, 255).astype(np.uint8)
        return np.asarray(cv2.applyColorMap(codes, cv2.COLORMAP_TURBO))

    found = truth + one.error
    wrong = np.clip(np.stack([-one.error, np.zeros_like(truth), one.error], axis=-1) / 0.3, 0, 1)
    seen = np.asarray(cv2.imread(str(folder / "maps" / PART / "reconstruction" / capture / f"{name}.png")))
    size = 2 * truth.shape[1], 2 * truth.shape[0]
    parts = [coloured(truth), coloured(found), coloured(found) * one.sure[..., None], 255 * wrong]
    tiles = [cv2.resize(part.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) for part in parts]
    tiles.insert(0, cv2.resize(seen, size, interpolation=cv2.INTER_AREA))
    cv2.imwrite(str(path), np.concatenate(tiles, axis=1), [cv2.IMWRITE_JPEG_QUALITY, 85])


def report(folders: list[Path]) -> None:
    """Prints what came of all rigs."""
    rigs = [
        _poses(folder, json.loads((folder / "maps/poses.json").read_text())["cameras"]) for folder in folders
    ]
    for name, every in (("rig", rigs), ("capture alone", [_alone(folder) for folder in folders])):
        errors = np.concatenate(every)
        print(
            f"{name}: rotation median {np.median(errors[:, 0]):.4f}, largest {errors[:, 0].max():.4f} deg; "
            f"place median {np.median(errors[:, 1]):.3f}, largest {errors[:, 1].max():.3f} mm"
        )
    done = [
        (folder, at.parent.name)
        for folder in folders
        for at in sorted((folder / "maps" / PART / "reconstruction").glob("*/index.html"))
    ]
    print(f"captures reconstructed: {len(done)}")
    _print_depth([compare_depth(*one, name) for one in done for name in CAMERAS])
    _print_patches([_patches(folder) for folder in folders])


def main() -> None:
    """Simulates, reconstructs, compares, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rigs", type=int, default=1)
    parser.add_argument("--captures", type=int, default=5, help="of each rig")
    parser.add_argument("--seed", type=int, default=6, help="of the first rig; the others follow")
    parser.add_argument("--lens", choices=list(LENSES), default="binned")
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--figure", type=Path, default=None, help="of the first rig's first capture, middle")
    given = parser.parse_args()
    with TemporaryDirectory() as spare:
        home = given.keep or Path(spare)
        folders = [home / str(seed) for seed in range(given.seed, given.seed + given.rigs)]
        good = [one for one in folders if make(one, int(one.name), given.captures, given.lens)]
        if good:
            report(good)
            if given.figure is not None:
                first = sorted((good[0] / "maps" / PART / "reconstruction").glob("*/index.html"))[0]
                draw_capture(good[0], first.parent.name, "center", given.figure)


if __name__ == "__main__":
    main()
