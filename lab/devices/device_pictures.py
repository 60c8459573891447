"""Pictures of a run on a device, for the how-to pages.

    python -m lab.devices.device_pictures DEVICE OUT.png [--start 40] [--size 220]

Above: what the camera saw at the start, on the way, and where it was left, cut around the brightest place,
all equally bright. Below: how sharp the frames of the run were, by the device's own positions.
"""

import argparse
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

import dioptre
from dioptre.cameras.base import Camera, Frame, OpenedCamera
from dioptre.cameras.devices import open_device

MEASURE = "gradient-magnitude-variance"  # serves star fields and beads alike
BRIGHT = 99.9  # percentile that is drawn white


@dataclass
class Watched:
    """A camera whose frames are kept.

    Attributes:
        camera: The camera.
        frames: The last frame of each position, in the order in which they were first taken.
    """

    camera: Camera
    frames: dict[int, Frame] = field(default_factory=dict)

    def __getattr__(self, name: str) -> object:
        return getattr(self.camera, name)

    def capture(self, index: int) -> Frame:
        """Captures, and keeps the frame."""
        self.frames[index] = self.camera.capture(index)
        return self.frames[index]


def draw(device: OpenedCamera, title: str, start: int | None, size: int) -> Figure:
    """Focuses a device and returns the picture of it."""
    watched = Watched(device)
    watched.capture(len(device.grid) // 2 if start is None else start)
    result = dioptre.Autofocus(watched, start=start).run()  # type: ignore[arg-type]
    visited = list(watched.frames)
    shown = {"start": visited[0], "on the way": visited[len(visited) // 3], "left here": result.index}
    places, unit = device.grid.positions, device.grid.unit
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplot_mosaic([list(shown), ["curve"] * len(shown)], height_ratios=(3, 2))
    middle = _brightest(watched.frames[result.index][0], size)
    white = np.percentile(watched.frames[result.index][0][middle], BRIGHT)
    for name, index in shown.items():
        axes[name].imshow(watched.frames[index][0][middle], cmap="gray", vmin=0, vmax=white)
        axes[name].set(title=f"{name}: {places[index]:g} {unit}", xticks=[], yticks=[])
    order = sorted(watched.frames)
    scores = dioptre.focus(np.stack([watched.frames[at][0] for at in order]), method=MEASURE).scores
    axes["curve"].plot(places[order], scores / scores.max(), "o-", color="#00a076", linewidth=1)
    axes["curve"].axvline(float(places[result.index]), color="#d95f02", linestyle="--")
    axes["curve"].set(xlabel=f"position ({unit})", ylabel="sharpness")
    figure.suptitle(
        f"{title}: {result.state}, {len(result.trace)} frames, confidence {result.confidence:.2f}"
    )
    return figure


def _brightest(frame: np.ndarray, size: int) -> tuple[slice, slice]:
    """Returns a square around the brightest place."""
    row, col = np.unravel_index(frame.argmax(), frame.shape)
    starts = (
        int(np.clip(at - size // 2, 0, max(n - size, 0)))
        for at, n in zip((row, col), frame.shape, strict=True)
    )
    first, second = starts
    return slice(first, first + size), slice(second, second + size)


def main() -> None:
    """Draws a run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device")
    parser.add_argument("out")
    parser.add_argument("--start", type=int)
    parser.add_argument("--size", type=int, default=220)
    given = parser.parse_args()
    with open_device(given.device) as device:
        draw(device, given.device, given.start, given.size).savefig(given.out, dpi=90)


if __name__ == "__main__":
    main()
