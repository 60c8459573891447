"""How many clean sweeps are answered right when the camera is held by hand, and moves from slice to slice.

    python -m lab.handheld --stacks 100

Clean painted sweeps of `lab.true_sweeps`, of a seed of its own, seen through a window that walks: from slice
to slice so many pixels in a direction of its own. The window is the same for all sizes of the walk, so that
0 is the same sweep held still; sweeps that have no room for it are left out.

    right    share of answers at most 2 slices from a place at which a depth is sharpest
    focused  share that are called focused
    missed   share that are called focused and not right by 4 slices
    aligned  share whose slices were aligned
"""

import argparse
from collections.abc import Iterator
from itertools import count

import numpy as np
from jaxtyping import Float, Int

import dioptre
from dioptre.focusing.result import FocusResult
from lab.true_sweeps import Plan, TrueSweep, _painted

SEED = 9100
SIZES = (0.0, 1.0, 2.0, 4.0, 6.0)  # pixels a slice
SMALLEST = 128  # pixels on a side of the window
RIGHT, MISS = 2.0, 4.0  # slices


def walk(slices: int, rng: np.random.Generator) -> Float[np.ndarray, "slice 2"]:
    """Returns the places of a camera that moves by one pixel a slice, around their middle."""
    angle = rng.uniform(0, 2 * np.pi, slices)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1).cumsum(axis=0)
    return places - (places.max(axis=0) + places.min(axis=0)) / 2


def held_by_hand(
    sweep: TrueSweep, places: Int[np.ndarray, "slice 2"], room: Int[np.ndarray, "2"]
) -> np.ndarray:
    """Returns the sweep through a window that moves, with so much room around it."""
    rows, cols = np.array(sweep.pixels.shape[2:]) - 2 * room
    tops = room + places
    return np.stack(
        [one[:, y : y + rows, x : x + cols] for one, (y, x) in zip(sweep.pixels, tops.tolist(), strict=True)]
    )


def sweeps_with_room(stacks: int, seed: int) -> Iterator[tuple[TrueSweep, Float[np.ndarray, "slice 2"]]]:
    """Yields clean painted sweeps that are large enough, and how the camera walks."""
    for scene in count():
        rng = np.random.default_rng([seed, scene])
        sweep = _painted(rng, Plan.draw(rng)).taken(rng)
        places = walk(len(sweep.pixels), rng)
        room = np.ceil(np.abs(places).max() * SIZES[-1])
        if sweep.clean and min(sweep.pixels.shape[2:]) - 2 * room >= SMALLEST:
            yield sweep, places
            stacks -= 1
        if stacks == 0:
            return


def counted(result: FocusResult, sweep: TrueSweep) -> list[bool]:
    """Returns what is counted of an answer."""
    off = min(abs(result.subindex - place) for place in sweep.sharp)
    focused = result.state == "focused"
    return [off <= RIGHT, focused, focused and off > MISS, any("aligned" in note for note in result.notes)]


def main() -> None:
    """Prints a line for each size of the walk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    told = parser.parse_args()
    found: dict[float, list[list[bool]]] = {size: [] for size in SIZES}
    for sweep, places in sweeps_with_room(told.stacks, told.seed):
        room = np.full(2, int(np.ceil(np.abs(places).max() * SIZES[-1])))
        for size in SIZES:
            pixels = held_by_hand(sweep, np.rint(size * places).astype(int), room)
            found[size].append(counted(dioptre.focus(pixels.mean(axis=1)), sweep))
    print("px a slice  right  focused  missed  aligned")
    for size, each in found.items():
        shares = "  ".join(f"{share:6.2f}" for share in np.mean(each, axis=0))
        print(f"{size:10.0f} {shares}")


if __name__ == "__main__":
    main()
