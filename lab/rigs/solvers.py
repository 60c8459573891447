"""Bundle adjustment by our own solver, SciPy's and Ceres (through pycolmap), on the same simulated rigs.

    python -m lab.rigs.solvers --rigs 5

Each rig has five cameras with mounting errors, and random points that each camera sees with 0.3 pixels of
noise at a focal length of 1600: one picture a camera, because COLMAP cannot let slices share a pose. All
begin from the nominal cross with focal lengths 3 % too long. Printed: the largest errors of rotation and
place, the median and largest bias of inverse depth over the rigs, and processor time. pycolmap is asked if it
is there.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares
from scipy.sparse import csr_matrix, hstack, vstack
from scipy.spatial.transform import Rotation

from dioptre.groundtruth.bundle import Expected, _deviations, _moved, _strayed, _ties, adjust
from dioptre.groundtruth.colmap import colmap_model
from dioptre.groundtruth.poses import Poses
from dioptre.groundtruth.projection import Bundle, Lenses, derive, offsets, project, see

ARM, FOCAL, NOISE = 0.06, 1600.0, 0.3
CROSS = ARM * np.array(
    [(0.0, 0.0, 0.0), (0.0, 1.0, 0.18), (0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
)
EXPECTED = Expected(focal=0.05, zoom=0.0, shift_px=0.0, outwards=0.0, pixel=NOISE)
NAMES = ("center", "left", "right", "top", "bottom")

Solver = Callable[[Bundle, Lenses], Bundle]


def draw(seed: int, points: int) -> tuple[Bundle, Bundle, Lenses]:
    """Returns what a rig saw and where everything is, the bundle to begin with, and what is expected."""
    rng = np.random.default_rng(seed)
    count = len(CROSS)
    rotations = 0.02 * rng.standard_normal((count, 3))
    centres = CROSS + 0.002 * rng.standard_normal((count, 3))
    rotations[0], centres = 0, centres - centres[0]
    focals = FOCAL * (1 + 0.002 * rng.standard_normal(count))
    fixed = np.ones(count), np.zeros((count, 2)), np.zeros((count, 2))
    true = Lenses(rotations, centres, focals, *fixed, np.array([-0.02, 0.03]))
    where = np.concatenate(
        [rng.uniform((-0.6, -0.45), (0.6, 0.45), (points, 2)), rng.uniform(0.3, 8, (points, 1))], axis=1
    )
    point, image = (one.ravel() for one in np.meshgrid(np.arange(points), np.arange(count), indexing="ij"))
    spacing = float(np.mean(np.linalg.norm(centres[1:], axis=1)))
    bundle = Bundle(
        true, where, np.arange(count), np.zeros(count), point, image, np.zeros((len(point), 2)), spacing
    )
    bundle = replace(bundle, places=project(bundle) + NOISE * rng.standard_normal((len(point), 2)))
    meant = Lenses(np.zeros((count, 3)), CROSS, np.full(count, 1.03 * FOCAL), *fixed, np.zeros(2))
    wrong = where * rng.uniform(0.8, 1.2, where.shape)
    return bundle, replace(bundle, lenses=meant, points=wrong), meant


def by_scipy(evaluations: int) -> Solver:
    """Returns SciPy's trust-region solver, stopped after so many evaluations."""

    def solve(start: Bundle, meant: Lenses) -> Bundle:
        unknowns = offsets(start)[-1]
        deviations = _deviations(start, EXPECTED)
        free = np.flatnonzero(deviations > 0)

        def state(x: Float[np.ndarray, " n"]) -> Bundle:
            whole = np.zeros(unknowns)
            whole[free] = x[: len(free)]
            return _moved(start, whole, x[len(free) :].reshape(-1, 3))

        def residuals(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
            now = state(x)
            seen = (project(now) - now.places).ravel() / NOISE
            held = _strayed(now, meant)[free] / deviations[free]
            return np.concatenate([seen, held, _ties(now, meant, EXPECTED)[0]])

        def slopes(x: Float[np.ndarray, " n"]) -> csr_matrix:
            now = state(x)
            by_camera, columns, by_point = derive(now, see(now))
            rows = np.arange(2 * len(now.point))
            camera = csr_matrix(
                (by_camera.ravel(), (np.repeat(rows, by_camera.shape[2]), np.repeat(columns, 2, 0).ravel())),
                (len(rows), unknowns),
            )[:, free]
            across = np.repeat(3 * now.point[:, None] + np.arange(3), 2, 0).ravel()
            point = csr_matrix((by_point.ravel(), (np.repeat(rows, 3), across)), (len(rows), now.points.size))
            held = csr_matrix(np.diag(1 / deviations[free]))
            ties = csr_matrix(_ties(now, meant, EXPECTED)[1][:, free])
            empty = csr_matrix((held.shape[0] + ties.shape[0], now.points.size))
            return hstack([vstack([camera / NOISE, held, ties]), vstack([point / NOISE, empty])]).tocsr()

        begin = np.zeros(len(free) + start.points.size)
        found = least_squares(residuals, begin, slopes, tr_solver="lsmr", x_scale="jac", max_nfev=evaluations)
        return state(found.x)

    return solve


def by_colmap(start: Bundle, _: Lenses) -> Bundle:
    """Returns what Ceres finds as COLMAP calls it: no expectations, scaled by the spacing afterwards."""
    import pycolmap  # type: ignore[import-not-found]  # noqa: PLC0415

    lenses = start.lenses
    points = np.concatenate([start.points[:, :2], np.ones((len(start.points), 1))], axis=1)
    seen = start.places.reshape(len(points), len(CROSS), 2)
    poses = Poses(
        NAMES, Rotation.from_rotvec(lenses.rotations).as_matrix(), lenses.centres, lenses.focals,
        np.zeros((len(CROSS), 2)), lenses.distortion, np.ones((len(CROSS), 1)), points / start.points[:, 2:],
        seen, NOISE, 1.0, 1.0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name, text in colmap_model(poses, (1512, 2016), 1).items():
            (Path(folder) / name).write_text(text)
        model = pycolmap.Reconstruction(folder)
    options = pycolmap.BundleAdjustmentOptions()
    options.refine_principal_point = False
    pycolmap.bundle_adjustment(model, options)
    places = [model.images[at + 1].cam_from_world() for at in range(len(CROSS))]
    rotations = np.stack([one.rotation.matrix() for one in places])
    centres = np.stack([-one.rotation.matrix().T @ one.translation for one in places])
    scale = start.spacing_m / np.mean(np.linalg.norm(centres[1:] - centres[0], axis=1))
    centres = scale * (centres - centres[0]) @ rotations[0].T
    old = -rotations[0].T @ places[0].translation
    where = np.stack([model.points3D[at + 1].xyz for at in range(len(points))])
    where = scale * (where - old) @ rotations[0].T
    return replace(
        start,
        lenses=replace(
            lenses, rotations=Rotation.from_matrix(rotations @ rotations[0].T).as_rotvec(), centres=centres
        ),
        points=np.concatenate([where[:, :2] / where[:, 2:], 1 / where[:, 2:]], axis=1),
    )


def main() -> None:
    """Draws rigs, solves, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rigs", type=int, default=5)
    parser.add_argument("--points", type=int, default=600)
    given = parser.parse_args()
    solvers: dict[str, Solver] = {
        "own Schur Levenberg-Marquardt": lambda start, meant: adjust(start, meant, EXPECTED),
        "scipy trf, 20 evaluations": by_scipy(20),
        "scipy trf, 200 evaluations": by_scipy(200),
        "Ceres (pycolmap)": by_colmap,
    }
    print(f"{'':32s} rotation deg, place mm (largest); depth D: median, largest bias; s")
    for name, solve in solvers.items():
        rows = []
        for seed in range(given.rigs):
            true, start, meant = draw(seed, given.points)
            began = time.process_time()
            try:
                found = solve(start, meant)
            except ImportError as error:
                print(f"{name:32s} {error}")
                break
            took = time.process_time() - began
            rotations = [Rotation.from_rotvec(one) for one in (found.lenses.rotations, true.lenses.rotations)]
            rotation = np.degrees((rotations[0] * rotations[1].inv()).magnitude()).max()
            place = 1e3 * np.linalg.norm(found.lenses.centres - true.lenses.centres, axis=1).max()
            bias = np.median(found.points[:, 2] - true.points[:, 2])
            rows.append((rotation, place, abs(bias), took))
        else:
            worst, middle = np.max(rows, axis=0), np.median(rows, axis=0)
            numbers = f"{worst[0]:.4f}  {worst[1]:.3f}   {middle[2]:.4f} {worst[2]:.4f}   {middle[3]:.2f}"
            print(f"{name:32s} {numbers}")


if __name__ == "__main__":
    main()
