"""Everything on a small simulated test set: patches, predictions, tables, figures; and one focus curve."""

import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from jaxtyping import Float32

from dioptre.errors import MissingExtraError
from dioptre.evaluate import figures
from dioptre.evaluate.tables import PaperTable
from dioptre.focusing.focus import focus
from dioptre.focusing.result import FocusResult
from dioptre.optics import CameraModel
from dioptre.pipeline.predicting import predict_store
from dioptre.pipeline.report_figures import Illustration
from dioptre.pipeline.reporting import report
from dioptre.pipeline.settings import Prediction, Simulation
from dioptre.pipeline.simulate import simulate
from dioptre.simulate.render import plane_stack
from dioptre.simulate.sensor import expose
from dioptre.simulate.texture import dead_leaves
from dioptre.store.lock import locked
from dioptre.store.manifest import PARTIAL

WORKING = "working-"  # begins the name of the folder of patches and predictions
SIZE = 128
TRUTH = 25  # of the textured plane
STARTS = 7  # of methods with few looks
DIM = {"shot": 0.6, "read": 1.6}  # noise of dim light


@dataclass(frozen=True)
class DemoFindings:
    """What the demo found.

    Attributes:
        tables: The tables.
        good: Focusing a textured plane.
        blank: Focusing a blank wall, which must fail.
        truth: The index of the textured plane.
        drawn: Whether the focus curve was drawn, for which matplotlib is needed.
    """

    tables: tuple[PaperTable, ...]
    good: FocusResult
    blank: FocusResult
    truth: int
    drawn: bool


def demo(
    out: Path, patches: int, seed: int, executor: Executor | None, done: Callable[[str, int, int], None]
) -> DemoFindings:
    """Simulates a small test set, runs every method on it, and writes the report.

    Patches and predictions are kept in a folder inside `out` while it runs, and in no other.

    Args:
        out: Folder of the report.
        patches: How many patches to simulate.
        seed: Of the simulation.
        executor: Who simulates and predicts; None for this process.
        done: Called with what is being done, how much of it is, and of how much.
    """
    simulation = Simulation(patches, seed, split="test")
    simulation.check()
    with locked(out):
        for leftover in out.glob(f"{WORKING}*{PARTIAL}"):  # of a demo that was killed
            shutil.rmtree(leftover)
        return _demo(out, simulation, executor, done)


def _demo(
    out: Path, simulation: Simulation, executor: Executor | None, done: Callable[[str, int, int], None]
) -> DemoFindings:
    """Runs the demo in a folder that nobody else writes."""
    camera, rng = CameraModel.pixel3(), np.random.default_rng(simulation.seed)
    texture = 0.25 * dead_leaves(SIZE + 56, SIZE + 56, rng)
    plane = plane_stack(camera, float(camera.grid.dioptres[TRUTH]), texture, rng, SIZE, **DIM)
    good = focus(plane, grid=camera.grid)
    blank = focus(expose(np.full(plane.shape, 0.1), rng=rng, **DIM), grid=camera.grid)
    curve = _focus_curve(good, plane, camera)
    with TemporaryDirectory(PARTIAL, WORKING, out) as folder:
        store, predictions = Path(folder) / "patches", Path(folder) / "predictions"
        simulate(store, simulation, executor, lambda n, of: done("simulating", n, of), shard_size=8)
        prediction = Prediction(starts=STARTS)
        predict_store(store, predictions, prediction, executor, lambda n, of: done("predicting", n, of))
        done("drawing", 0, 1)
        tables = report([predictions], out, further=curve)
        done("drawing", 1, 1)
    return DemoFindings(tuple(tables), good, blank, TRUTH, bool(curve))


def _focus_curve(
    result: FocusResult, pixels: Float32[np.ndarray, "n 2 row col"], camera: CameraModel
) -> list[Illustration]:
    """Returns the figure of a focus curve; nothing without matplotlib."""
    try:
        figure = figures.focus_curve(
            result.scores,
            result.index,
            result.position,
            result.state,
            pixels.mean(axis=1),
            [f"slice {k}" for k in range(len(camera.grid))],
            "A simulated plane through focus",
            camera.grid.dioptres,
            "focus (dioptres, far to near)",
        )
    except MissingExtraError:
        return []
    text = (
        "What dioptre.focus makes of a simulated textured plane: the curve, its peak, the slices around it."
    )
    return [Illustration("focus_curve", "A focus curve", text, figure)]
