"""How much of a published error is the label's? Labels of a reconstructed rig, patches of the phone itself.

    python -m lab.rigs.labels --rigs 4 --captures 5 --lens averaged --keep DIR    captures, poses, depth
    python -m lab.rigs.label_error DIR --patches 24                               then the patches

Depth is found on means over 4 x 4 pixels, as the published depth was. The patches are of the same places of
the same worlds, through the same lens, but on the phone's own pixels: they have its blur, its noise and its
breathing. All 45 measures of the paper answer each patch once, and the answers are compared with the label
of the reconstructed maps and with the true one: for all patches, and for those that pass the filter by the
median confidence. Everything is simulated. Brackets are 90 % intervals of a bootstrap over captures.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from dioptre.evaluate.paper import BIG_TABLE
from dioptre.methods import scores
from dioptre.optics import CameraModel
from dioptre.pipeline.simulate import conditions_of
from dioptre.pipeline.simulate_captures import rig_of, see_world
from dioptre.simulate.frame import true_depth
from dioptre.simulate.light import draw_steps
from dioptre.simulate.sensor import native_to_pixels
from dioptre.stack import FocalStack
from dioptre.store.labels import SIZE, Labels
from dioptre.store.maps import read_map
from lab import slow_references
from lab.realism.regime import INTERVAL, KEYS, RESAMPLES
from lab.rigs.frame_crop import read_window
from lab.rigs.labels import BINNED, PART, SURE, simulation_of

STRIDE = 16  # pixels of the phone: those of a map of binned frames
FACTOR = 4  # pixels of the phone for one of the true depth that a median is of
CAMERA = CameraModel.pixel3()


@dataclass(frozen=True, eq=False)
class Answered:
    """What came of the patches of one capture.

    Attributes:
        labels: (patch, 2) reconstructed and true label.
        kept: Which pass the filter.
        answers: (patch, measure), in the order of KEYS.
    """

    labels: Int[np.ndarray, "patch 2"]
    kept: Bool[np.ndarray, " patch"]
    answers: Int[np.ndarray, "patch measure"]


def reconstructed(folder: Path) -> Iterator[tuple[int, str]]:
    """Yields the number and the name of the captures of a rig that were reconstructed."""
    done = sorted((folder / "maps" / PART / "reconstruction").glob("*/index.html"))
    for name in (at.parent.name for at in done):
        yield int(name.removeprefix("world").split("_")[0]), name


def answer_capture(folder: Path, number: int, name: str, patches: int) -> Answered:
    """Returns the labels and answers of random patches of a capture's middle camera."""
    seed = int(folder.name)
    simulation, captures = simulation_of(seed, "averaged", folder)
    rows, cols = np.load(folder / "captures/truth" / name / "center.npy").shape
    frame = BINNED * rows, BINNED * cols
    whole = replace(captures, binned=1, frame=f"{frame[0]}x{frame[1]}")
    seen, light = see_world(simulation, whole, number, rig_of(simulation, whole, CAMERA).phones[0])
    found = np.load(folder / "maps" / PART / "reconstruction" / name / "center.npy")
    known = np.rot90(
        read_map(folder / "maps" / PART / f"merged_conf/{name}/result_merged_conf_center.exr")
    ).astype(np.float64)
    mine = Labels.from_maps(found.astype(np.float64), known, CAMERA.grid, frame, SIZE, STRIDE)
    depth = true_depth(seen, FACTOR).astype(np.float64)
    true = Labels.from_maps(depth, np.ones_like(depth), CAMERA.grid, frame, SIZE, STRIDE)
    rng = np.random.default_rng([seed, number, 3])
    inside = ((mine.corners >= 2) & (mine.corners + SIZE <= np.array(frame) - 2)).all(axis=1)
    chosen = rng.choice(np.flatnonzero(inside), patches, replace=False)
    lens = json.loads((folder / "captures/truth" / name / "center.json").read_text())
    focus, axis = np.array(lens["focus"]), BINNED * np.array(lens["axis_px"])
    gain = np.float32(light.exposure) * draw_steps(
        len(focus), conditions_of(simulation, "train").lighting, rng
    )
    answers = []
    for at in chosen:
        corner = int(mine.corners[at][0]), int(mine.corners[at][1])
        native = read_window(seen, corner, SIZE, focus, axis, gain, light.noise, rng)
        stack = FocalStack.full(native_to_pixels(native)[None], CAMERA.grid)
        scored = scores(stack.green(), list(slow_references.CONTRAST)) | scores(
            stack, list(slow_references.STEREO)
        )
        answers.append([int(scored[key].argmax()) for key in KEYS])
    labels = np.stack([mine.truth[chosen], true.truth[chosen]], axis=1)
    kept = (mine.confidence[chosen] >= SURE) & ~np.isnan(mine.depth[chosen])
    return Answered(labels, kept, np.array(answers))


def print_table(captures: list[Answered], only_kept: bool) -> None:
    """Prints the errors of all measures against both labels, and their difference with its interval."""

    def pooled(some: list[Answered]) -> tuple[np.ndarray, np.ndarray]:
        which = [one.kept if only_kept else np.ones_like(one.kept) for one in some]
        labels = np.concatenate([one.labels[here] for one, here in zip(some, which, strict=True)])
        answers = np.concatenate([one.answers[here] for one, here in zip(some, which, strict=True)])
        return labels, np.abs(answers[:, :, None] - labels[:, None, :])

    labels, errors = pooled(captures)
    off = np.abs(labels[:, 0] - labels[:, 1])
    print(f"\n{len(labels)} patches of {len(captures)} captures{', of those that pass' if only_kept else ''}")
    print(f"label equal {np.mean(off == 0):.1%}, within 1 {np.mean(off <= 1):.1%}, MAE {off.mean():.3f}")
    rng = np.random.default_rng(0)
    draws = [
        pooled([captures[at] for at in rng.integers(0, len(captures), len(captures))])[1].mean(axis=0)
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile([one[:, 0] - one[:, 1] for one in draws], INTERVAL, axis=0)
    maes = errors.mean(axis=0)
    within = (errors <= 1).mean(axis=0)
    print(f"{'':40}{'paper':>7}{'rig':>7}{'true':>7}{'difference':>12}{'':17}within 1: rig, true")
    for at in np.argsort([BIG_TABLE[key].mae for key in KEYS]):
        mae, more = BIG_TABLE[KEYS[at]].mae, maes[at, 0] - maes[at, 1]
        print(
            f"{KEYS[at]:40}{mae:7.2f}{maes[at, 0]:7.2f}{maes[at, 1]:7.2f}{more:+12.3f} "
            f"[{low[at]:+.3f}, {high[at]:+.3f}]   {within[at, 0]:.3f} {within[at, 1]:.3f}"
        )
    part = (maes[:, 0] - maes[:, 1]) / maes[:, 0]
    print(f"of the error, the label's: median {np.median(part):+.1%}, {part.min():+.1%} to {part.max():+.1%}")


def main() -> None:
    """Renders, measures, compares, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what lab.rigs.labels kept of --lens averaged")
    parser.add_argument("--patches", type=int, default=24, help="of each capture")
    given = parser.parse_args()
    captures = []
    for folder in sorted(one for one in given.folder.iterdir() if one.name.isdecimal()):
        for number, name in reconstructed(folder):
            captures.append(answer_capture(folder, number, name, given.patches))
    print_table(captures, only_kept=True)
    print_table(captures, only_kept=False)


if __name__ == "__main__":
    main()
