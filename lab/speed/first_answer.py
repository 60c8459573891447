"""The first answer: `dioptre focus` of a small stack against a plain OpenCV loop, processes counted whole.

    python -m lab.speed first_answer

Twenty pictures of 900 x 700, as PNG and as JPEG: a texture through focus, and another that lies at three
depths, which is looked at three times. Each contender runs in a process of its own, by turns, each time after
a run that is not counted:

    laplacian   cv2.imread(..., IMREAD_GRAYSCALE), cv2.Laplacian(..., CV_64F).var(), argmax: `python -c`
    focus       python -m dioptre focus FOLDER

Time is what passes from starting Python to its end, the best of five.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from lab.speed.timing import best_of_each, write_line

SLICES, ROWS, COLS, SHARP = 20, 700, 900, 10
EDGES: Final = (0, 250, 650, 900)  # columns between depths
DEPTHS: Final[Mapping[str, tuple[int, int, int]]] = {  # where the left, the middle and the right are sharp
    "one depth": (SHARP, SHARP, SHARP),
    "three depths": (4, SHARP, 16),
}
PROMISED: Final = 4.0  # times the plain loop, of one depth
TURNS: Final = 5
LAPLACIAN: Final = """
import glob, sys, cv2, numpy as np
files = sorted(glob.glob(sys.argv[1] + "/*"))
grey = (cv2.imread(file, cv2.IMREAD_GRAYSCALE) for file in files)
print(files[np.argmax([cv2.Laplacian(one, cv2.CV_64F).var() for one in grey])])
"""
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "laplacian": ("-c", LAPLACIAN),
    "focus": ("-m", "dioptre", "focus"),
}


def write_stack(folder: Path, ending: str, depths: tuple[int, int, int]) -> None:
    """Writes a texture through focus, one picture a slice, with a little noise."""
    rng = np.random.default_rng(0)
    texture = cv2.GaussianBlur(rng.random((ROWS, COLS)).astype(np.float32) ** 3, (0, 0), 1.0)
    for at in range(SLICES):
        picture = np.empty_like(texture)
        for sharp, (left, right) in zip(depths, pairwise(EDGES), strict=True):
            soft = cv2.GaussianBlur(texture, (0, 0), 0.3 + 0.4 * abs(at - sharp))
            picture[:, left:right] = soft[:, left:right]
        codes = 255 * picture + rng.normal(0, 1, picture.shape)
        cv2.imwrite(str(folder / f"{at:02}{ending}"), np.clip(np.rint(codes), 0, 255).astype(np.uint8))


def answer(name: str, folder: Path) -> str:
    """Returns what a contender says, from a process of its own."""
    command = [sys.executable, *COMMANDS[name], str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def main(_arguments: Sequence[str]) -> None:
    """Prints the table."""
    write_line(f"{'pictures':<20}{'laplacian ms':>14}{'focus ms':>10}{'ratio':>7}  same answer")
    for (kind, depths), ending in product(DEPTHS.items(), (".png", ".jpg")):
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home)
            write_stack(folder, ending, depths)
            same = all(f"{SHARP:02}{ending}" in answer(name, folder) for name in COMMANDS)
            plain, ours = best_of_each([partial(answer, name, folder) for name in COMMANDS], 1, TURNS)
        told = "" if kind != "one depth" else "  ok" if ours / plain <= PROMISED else "  above the promised 4"
        row = f"{kind + ', ' + ending[1:]:<20}{plain:>14.0f}{ours:>10.0f}{ours / plain:>7.2f}"
        write_line(f"{row}  {'yes' if same else 'NO'}{told}")


if __name__ == "__main__":
    main(sys.argv[1:])
