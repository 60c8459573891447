"""A small simulated test set, every method on it, one focus curve."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int

from dioptre.evaluate import figures, paper
from dioptre.evaluate.metrics import Metrics, format_rows, measure
from dioptre.loop.focus import FocusResult, focus
from dioptre.methods import METHODS, best_index, scores
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.sensor import expose
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

SIZE = 128


@dataclass(frozen=True)
class Demo:
    """What the demo found.

    Attributes:
        rows: For each method its key, the metrics here and those the paper prints (None if it has none).
        good: Focusing a textured plane.
        blank: Focusing a blank wall, which must fail.
        truth: The index of the textured plane.
        drawn: Whether the focus curve was drawn, for which matplotlib is needed.
    """

    rows: tuple[tuple[str, Metrics, Metrics | None], ...]
    good: FocusResult
    blank: FocusResult
    truth: int
    drawn: bool


def simulate_planes(
    camera: CameraModel, count: int, rng: np.random.Generator, done: Callable[[int], None]
) -> tuple[Float32[np.ndarray, "count n 2 row col"], Int[np.ndarray, " count"]]:
    """Returns stacks of textured planes spread over the ladder, in dim light, and their true indices."""
    n = len(camera.grid)
    truth = np.linspace(2, n - 3, count).round().astype(np.int64)
    stacks = []
    for at, index in enumerate(truth):
        texture = 0.25 * dead_leaves(SIZE + 56, SIZE + 56, rng)
        depth = float(camera.grid.dioptres[index])
        stacks.append(plane_stack(camera, depth, texture, rng, SIZE, shot=0.6, read=1.6))
        done(at + 1)
    return np.stack(stacks), truth


def demo(out: Path, stacks: int, seed: int, done: Callable[[int], None]) -> Demo:
    """Simulates a small test set, runs every method on it, and writes `table.md` and `focus_curve.png`."""
    rng, camera = np.random.default_rng(seed), CameraModel.pixel3()
    pixels, truth = simulate_planes(camera, stacks, rng, done)
    stack = FocalStack.full(pixels, camera.grid)
    found = scores(stack, list(METHODS))
    rows = tuple((key, measure(best_index(found[key]), truth), paper.BIG_TABLE.get(key)) for key in METHODS)
    middle = stacks // 2
    good = focus(pixels[middle], grid=camera.grid)
    wall = expose(np.full(pixels[middle].shape, 0.1), 0.6, 1.6, rng)
    blank = focus(wall, grid=camera.grid)
    out.mkdir(parents=True, exist_ok=True)
    drawn = _draw_demo(out / "focus_curve.png", good, pixels[middle], camera)
    table = format_rows((METHODS[key].problem, METHODS[key].title, ours) for key, ours, _ in rows)
    note = DEMO_NOTE.format(stacks=stacks, seed=seed)
    (out / "table.md").write_text(note + table, encoding="utf-8")
    return Demo(rows, good, blank, int(truth[middle]), drawn)


def _draw_demo(
    path: Path, result: FocusResult, pixels: Float32[np.ndarray, "n 2 row col"], camera: CameraModel
) -> bool:
    """Draws the demo's focus curve and returns True, or False without matplotlib."""
    try:
        figure = figures.focus_curve(
            result.scores,
            result.index,
            result.position,
            True,
            pixels.mean(axis=1),
            [f"slice {k}" for k in range(len(camera.grid))],
            "A simulated plane through focus",
            camera.grid.dioptres,
            "focus (dioptres, far to near)",
        )
    except ImportError:
        return False
    figures.save(figure, path)
    return True


DEMO_NOTE = """# Classical measures on simulated planes

{stacks} simulated stacks (seed {seed}): textured planes facing the camera, dim light, a lens that goes
exactly where it is told. This is far easier than real captures.

"""
