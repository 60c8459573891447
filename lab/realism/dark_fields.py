"""Pictures that are mostly black, as of stars and of beads: how often each method for whole stacks is right.

    python -m lab.realism.dark_fields [--stacks 200] [METHOD ...]

Drawn, not rendered: points of light whose discs (rings, behind a telescope's second mirror) grow by 0.4 to 2
pixels a slice, blurred by the seeing or by the microscope's own spot, with shot noise, read noise, a sky,
and in half of the fields hot pixels. The fluxes are such that the brightest point stands 5 to 300
deviations of the noise above the sky in focus. The focus is anywhere but in the two slices at either end.
"""

import argparse

import numpy as np
from jaxtyping import Float

from dioptre.confidence.reasons import State
from dioptre.focusing.focus import focus
from dioptre.miss import reach_of

METHODS = ("dioptre-vote", "local-norm-dist-sq-4", "gradient-magnitude-variance", "laplacian-variance")
SIZES = (128, 192, 320)  # pixels
GAIN = 2e4  # electrons at white
READ = 0.0015  # of white
SEED = 777


def point(
    size: int, at: Float[np.ndarray, " 2"], radius: float, ring: float, spot: float
) -> Float[np.ndarray, "row col"]:
    """Returns a point's light, 1 in all: a disc of soft edge, dark within `ring` of its radius."""
    rows, cols = np.ogrid[:size, :size]
    away = np.hypot(rows - at[0], cols - at[1])

    def disc(of: float) -> Float[np.ndarray, "row col"]:
        return 1 / (1 + np.exp(np.clip((away - of) / spot, -50, 50)))

    light = disc(radius) - (disc(ring * radius) if ring * radius > 2 * spot else 0.0)
    return light / light.sum()


def field(rng: np.random.Generator) -> tuple[Float[np.ndarray, "slice row col"], int]:
    """Returns a stack of a field through focus, and the slice that is in focus."""
    size, slices = int(rng.choice(SIZES)), int(rng.integers(9, 32))
    sharp = int(rng.integers(2, slices - 2))
    points, growth, spot = int(rng.integers(3, 40)), rng.uniform(0.4, 2.0), rng.uniform(0.6, 1.6)
    ring = 0.4 if rng.random() < 0.5 else 0.0
    sky = 10 ** rng.uniform(-3, -1.3)
    noise = np.hypot(READ, np.sqrt(sky / GAIN))
    middle = point(31, np.array([15.0, 15.0]), 0.0, 0.0, spot).max()
    brightest = min(noise * 10 ** rng.uniform(0.7, 2.5), 0.9) / middle
    places = rng.uniform(6, size - 6, (points, 2))
    fluxes = brightest * 10 ** (-0.4 * np.r_[0.0, rng.uniform(0, 3, points - 1)])
    hot = rng.uniform(0, 1, (size, size)) < (2e-4 if rng.random() < 0.5 else 0.0)
    stack = np.full((slices, size, size), sky)
    for index in range(slices):
        for at, flux in zip(places, fluxes, strict=True):
            stack[index] += flux * point(size, at, growth * abs(index - sharp), ring, spot)
    stack = rng.poisson(GAIN * stack) / GAIN + READ * rng.standard_normal(stack.shape) + 0.5 * hot
    return np.clip(stack, 0, 1).astype(np.float32), sharp


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=METHODS, metavar="METHOD")
    parser.add_argument("--stacks", type=int, default=200)
    asked = parser.parse_args()
    rng = np.random.default_rng(SEED)
    rows: dict[str, list[tuple[bool, bool, bool]]] = {key: [] for key in asked.methods}
    for _ in range(asked.stacks):
        stack, sharp = field(rng)
        for key, some in rows.items():
            found = focus(stack, key)
            off, sure = abs(found.index - sharp), found.state is State.FOCUSED
            some.append((off <= 1, sure, sure and off > reach_of(len(stack))))
    print(f"{'':<32}{'within 1':>9}{'FOCUSED':>9}{'false':>9}")
    for key, some in rows.items():
        print(f"{key:<32}" + "".join(f"{share:>9.3f}" for share in np.mean(some, axis=0)))


if __name__ == "__main__":
    main()
