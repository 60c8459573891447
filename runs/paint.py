"""Paints pictures for `dioptre simulate --textures DIR`: plain things with hard edges, and print on them.

python runs/paint.py DIR [count]

Leaves and most photographs have detail everywhere. Rooms, boxes and books do not: in a patch of them there
may be one edge and nothing else, and how much that is blurred is what a network must tell.
"""

import sys
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float

from dioptre.simulate.texture import GAMMA, dead_leaves, glyphs, log_uniform

SIZE = 1400
SEED = 7
COUNT = 60

Picture = Float[np.ndarray, "n n"]


def surface(rng: np.random.Generator, grey: float) -> Picture:
    """Returns a plain surface, one with faint leaves on it, or one with print."""
    kind = rng.random()
    grain = log_uniform(rng, 0.003, 0.06)
    if kind < 0.45:
        return grey * (1 + grain * rng.standard_normal((SIZE, SIZE)))
    if kind < 0.65:
        smallest, largest = rng.uniform(2, 6), log_uniform(rng, 20.0, 300.0)
        leaves = dead_leaves(SIZE, SIZE, rng, smallest, largest, grain)
        return grey * (1 + log_uniform(rng, 0.1, 0.8) * (leaves - 0.5))
    page = glyphs(SIZE, rng, log_uniform(rng, 30.0, 200.0), grain)
    page = np.rot90(page) if rng.random() < 0.5 else page
    ink = log_uniform(rng, 0.03, 0.9)
    inked = (page - page.min()) / (page.max() - page.min())
    return grey + (ink - grey) * (inked if rng.random() < 0.5 else 1 - inked)


def outline(rng: np.random.Generator) -> Picture:
    """Returns where a thing is: a box, most of them almost upright, an ellipse or a ring."""
    mask = np.zeros((SIZE, SIZE), np.uint8)
    x, y = rng.uniform(0, SIZE, 2)
    width, height = np.exp(rng.uniform(np.log(25), np.log(700), 2))
    upright = rng.random() < 0.7
    degrees = rng.normal(0, 8) + 90 * rng.integers(2) if upright else rng.uniform(0, 180)
    kind = rng.random()
    if kind < 0.6:
        corners = cv2.boxPoints(((x, y), (width, height), degrees))
        cv2.fillConvexPoly(mask, np.round(corners * 16).astype(np.int32), 255, cv2.LINE_AA, 4)
    elif kind < 0.8:
        cv2.ellipse(mask, ((x, y), (width, height), degrees), 255, -1, cv2.LINE_AA)
    else:
        thick = int(rng.integers(3, 40))
        cv2.ellipse(mask, ((x, y), (width + 100, height + 100), degrees), 255, thick, cv2.LINE_AA)
    return mask / 255.0


def paint(rng: np.random.Generator) -> Picture:
    """Returns things in front of a ground, under a light that changes slowly; linear, 0 to 1."""
    picture = surface(rng, log_uniform(rng, 0.05, 0.9))
    for _ in range(rng.integers(6, 30)):
        thing = outline(rng)
        picture = picture * (1 - thing) + thing * surface(rng, log_uniform(rng, 0.04, 0.95))
    light = cv2.GaussianBlur(rng.standard_normal((SIZE // 20, SIZE // 20)), (0, 0), rng.uniform(3, 12))
    slow = cv2.resize(light / (light.std() + 1e-9), (SIZE, SIZE), interpolation=cv2.INTER_CUBIC)
    picture = picture * np.exp(rng.uniform(0, 0.4) * slow)
    return np.clip(picture / np.quantile(picture, 0.99), 0, 1)


def main() -> None:
    """Paints the pictures, the same ones every time."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for at in range(int(sys.argv[2]) if len(sys.argv) > 2 else COUNT):
        shown = paint(np.random.default_rng([SEED, at])) ** (1 / GAMMA)
        cv2.imwrite(str(folder / f"panel{at:03}.png"), np.round(shown * 65535).astype(np.uint16))


if __name__ == "__main__":
    main()
