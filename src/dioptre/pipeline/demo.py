"""Everything on a small simulated test set: patches, predictions, tables; and one focus curve."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float32

from dioptre.evaluate import figures
from dioptre.evaluate.tables import Line
from dioptre.loop.focus import focus
from dioptre.loop.result import FocusResult
from dioptre.optics import CameraModel
from dioptre.pipeline.predicting import predict_store
from dioptre.pipeline.reporting import report
from dioptre.pipeline.settings import Prediction, Simulation
from dioptre.pipeline.simulate import simulate
from dioptre.simulate.render import plane_stack
from dioptre.simulate.sensor import expose
from dioptre.simulate.texture import dead_leaves

SIZE = 128
TRUTH = 25  # of the textured plane
STARTS = 7  # of methods with few looks
DIM = {"shot": 0.6, "read": 1.6}  # noise of dim light


@dataclass(frozen=True)
class DemoFindings:
    """What the demo found.

    Attributes:
        rows: The rows of the tables.
        good: Focusing a textured plane.
        blank: Focusing a blank wall, which must fail.
        truth: The index of the textured plane.
        drawn: Whether the focus curve was drawn, for which matplotlib is needed.
    """

    rows: tuple[Line, ...]
    good: FocusResult
    blank: FocusResult
    truth: int
    drawn: bool


def demo(
    out: Path, patches: int, seed: int, executor: Executor | None, done: Callable[[str, int, int], None]
) -> DemoFindings:
    """Simulates a small test set, runs every method on it, and writes the tables and `focus_curve.png`.

    Args:
        out: Folder of the tables and the picture.
        patches: How many patches to simulate.
        seed: Of the simulation.
        executor: Who simulates and predicts; None for this process.
        done: Called with what is being done, how much of it is, and of how much.
    """
    simulation = Simulation(patches, seed, split="test")
    simulation.check()
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        store, predictions = Path(folder) / "patches", Path(folder) / "predictions"
        simulate(store, simulation, executor, lambda n, of: done("simulating", n, of), shard_size=8)
        prediction = Prediction(starts=STARTS)
        predict_store(store, predictions, prediction, executor, lambda n, of: done("predicting", n, of))
        rows = report(predictions, out)
    camera, rng = CameraModel.pixel3(), np.random.default_rng(seed)
    texture = 0.25 * dead_leaves(SIZE + 56, SIZE + 56, rng)
    plane = plane_stack(camera, float(camera.grid.dioptres[TRUTH]), texture, rng, SIZE, **DIM)
    good = focus(plane, grid=camera.grid)
    blank = focus(expose(np.full(plane.shape, 0.1), rng=rng, **DIM), grid=camera.grid)
    drawn = _draw(out / "focus_curve.png", good, plane, camera)
    return DemoFindings(tuple(rows), good, blank, TRUTH, drawn)


def _draw(
    path: Path, result: FocusResult, pixels: Float32[np.ndarray, "n 2 row col"], camera: CameraModel
) -> bool:
    """Draws the focus curve and returns True, or False without matplotlib."""
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
