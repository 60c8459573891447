"""Learned depth on wide pictures: what the surroundings of a patch are worth. All pictures are simulated.

    python -m lab.realism.depth_images [SCENES]

Pictures of 384 pixels with several surfaces, of phones of the calibrated make, at one random position of the
lens each. What is asked for is the depth of the 128 pixels in the middle; errors are in indices.

    tiles     the tiles of these 128 pixels alone
    patch     a network's map of the same, fitted to them
    picture   a network's map of all 384 pixels, fitted to all tiles; the median of those in the middle
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from dioptre.methods.calibration import find_calibration
from dioptre.methods.depth_network import SCALE, match_depth
from dioptre.methods.disparity import DEPTH, KINDS
from dioptre.methods.matching import FULL, HALF, Match, View, match_ssd
from dioptre.optics import CameraModel
from dioptre.pipeline.depth_images import WideSimulation, draw_scene
from dioptre.simulate.depth_images import WidePicture
from dioptre.simulate.sensor import native_to_pixels

SIZE, PATCH = 384, 128
SEED = 900

Matcher = Callable[..., Match]


def middle(
    views: Float[np.ndarray, "*any row col"], scale: int = 1
) -> Float[np.ndarray, "*any half_row half_col"]:
    """Returns the PATCH pixels in the middle."""
    first, count = (SIZE - PATCH) // 2 // scale, PATCH // scale
    return views[..., first : first + count, first : first + count]


def answers(
    pictures: list[WidePicture], key: str, match: Matcher, whole: bool
) -> Float[np.ndarray, " picture"]:
    """Returns where a method finds the middle of pictures, in dioptres."""
    camera, table = CameraModel.pixel3(), find_calibration("center")
    kind, rows, cols = KINDS[key], *camera.frame
    found = []
    for one in pictures:
        pixels = native_to_pixels(one.native)
        views: list[View] = [np.ascontiguousarray(view if whole else middle(view))[None] for view in pixels]
        where = np.array([[one.at[0] / (cols / 2), one.at[1] / (rows / 2)]])
        shift = match(*views, kind.reach_of(table)).shifts / kind.gain_at(table, where)
        found.append(float(camera.grid.dioptres[one.index] + table.fit_of(key).line.at(shift)[0]))
    return np.array(found)


def main() -> None:
    """Prints the table."""
    scenes = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    simulation = WideSimulation(scenes=scenes, seed=SEED, size=SIZE)
    pictures = [one for number in range(scenes) for one in draw_scene(simulation, "test", number)]
    grid = CameraModel.pixel3().grid
    truth = np.array([float(np.median(middle(one.depths, SCALE))) for one in pictures])
    print(f"{len(pictures)} pictures{'':<14}{'tiles':>8}{'patch':>8}{'picture':>8}   mean error in indices")
    for key, size, held in (("learned-depth", FULL, True), ("dioptre-learned-depth", HALF, False)):
        tiles = partial(match_ssd, size=size, held=held)
        depth = partial(match_depth, DEPTH, size=size, held=held)
        ways = ((tiles, False), (depth, False), (partial(depth, within=PATCH), True))
        errors = [
            np.abs(grid.nearest_index(answers(pictures, key, *way)) - grid.nearest_index(truth)).mean()
            for way in ways
        ]
        print(f"{key:<26}" + "".join(f"{error:>8.2f}" for error in errors), flush=True)


if __name__ == "__main__":
    main()
