"""Are true maps sure where reconstructed ones are? Captures of rigs, whose worlds are known, both ways.

    python -m lab.rigs.labels --rigs 4 --captures 5 --lens averaged --keep DIR    captures, poses, depth
    python -m lab.rigs.mvs_confidence DIR                                              three minutes

Printed for the middle camera of the captures of each rig, and of all: the share of sure pixels by the
reconstruction and by `dioptre.simulate.mvs_confidence`, how often both say the same; the patches that pass
the filter of an import by either, how often both say the same, Cohen's kappa of that, and of the patches that
pass by true maps the share that passes by reconstructed ones.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from dioptre.optics import CameraModel
from dioptre.pipeline.simulate_captures import camera_of, confidence_map, rig_of, see_world
from dioptre.store.labels import SIZE, Labels
from dioptre.store.maps import read_map
from lab.rigs.label_error import STRIDE, reconstructed
from lab.rigs.labels import BINNED, PART, SURE, simulation_of

CAMERA = CameraModel.pixel3()


@dataclass(frozen=True, eq=False)
class Both:
    """What reconstructed and true maps say, in this order.

    Attributes:
        pixels: Which are sure.
        patches: Which pass.
    """

    pixels: Bool[np.ndarray, "2 pixel"]
    patches: Bool[np.ndarray, "2 patch"]


def compare(folder: Path, number: int, name: str) -> Both:
    """Returns what both say about a capture's middle camera."""
    simulation, captures = simulation_of(int(folder.name), "averaged", folder)
    phone = rig_of(simulation, captures, camera_of(simulation, captures)).phones[0]
    seen, light = see_world(simulation, captures, number, phone)
    true = confidence_map(seen, light)
    at = folder / "maps" / PART / f"merged_conf/{name}/result_merged_conf_center.exr"
    found = np.rot90(read_map(at))[: true.shape[0], : true.shape[1]]
    frame = BINNED * seen.frame[0], BINNED * seen.frame[1]
    flat = np.ones(true.shape)
    passed = [
        Labels.from_maps(flat, one.astype(np.float64), CAMERA.grid, frame, SIZE, STRIDE).confidence >= SURE
        for one in (found, true)
    ]
    return Both(np.stack([found.ravel() >= SURE, true.ravel() >= SURE]), np.stack(passed))


def kappa(a: Bool[np.ndarray, " n"], b: Bool[np.ndarray, " n"]) -> float:
    """Returns how much oftener two agree than by chance: 1 for always, 0 for chance."""
    chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float((np.mean(a == b) - chance) / (1 - chance))


def print_line(name: str, captures: list[Both]) -> None:
    """Prints what came of some captures."""
    found, true = np.concatenate([one.pixels for one in captures], axis=1)
    kept, passed = np.concatenate([one.patches for one in captures], axis=1)
    print(
        f"{name:5} pixels: {found.mean():.1%} {true.mean():.1%}, alike {np.mean(found == true):.1%};  "
        f"patches: {kept.mean():.1%} {passed.mean():.1%}, alike {np.mean(kept == passed):.1%}, "
        f"kappa {kappa(kept, passed):.2f}, of the second the first {np.mean(kept[passed]):.1%}",
        flush=True,
    )


def main() -> None:
    """Compares and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what lab.rigs.labels kept of --lens averaged")
    every = []
    for folder in sorted(one for one in parser.parse_args().folder.iterdir() if one.name.isdecimal()):
        mine = [compare(folder, number, name) for number, name in reconstructed(folder)]
        print_line(folder.name, mine)
        every += mine
    print_line("all", every)


if __name__ == "__main__":
    main()
