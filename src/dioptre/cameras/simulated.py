"""A simulated phone as a camera: it renders what it sees when it is asked, through a lens that strays.

The lens is a voice coil (`dioptre.simulate.lens`): hysteresis, gravity, heat, jitter, settling. A frame has
fresh noise, in normal light or low. Time is simulated too: nobody waits, `seconds` counts what a camera that
takes 30 frames a second would have needed.

An address is `SEED`, and after commas in any order `dark`, `green` (one view), `exact` (a lens that goes
where it is told), `target` (a textured plane instead of a scene, for measuring the camera), the rows and
columns of its frames, and a make (`dioptre.cameras.camera_presets`): `simulated:7,dark,green,256`.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.camera_presets import MAKES
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.optics import CameraModel
from dioptre.simulate.capture import Conditions
from dioptre.simulate.device import PhoneOptics
from dioptre.simulate.lens import VoiceCoil
from dioptre.simulate.live_scene import LiveScene, draw_stage, draw_target

FRAME_S = 1 / 30
SETTLE_S = 0.05
PARTS = 10  # of a position: light is rendered once for each, as the lens never returns exactly
SIZE = 128
SMALLEST, LARGEST = 32, 1024
WORDS = ("dark", "green", "exact", "target")


@dataclass(eq=False)
class SimulatedCamera:
    """A phone before a scene.

    Attributes:
        stage: What it sees; another one may be put there at any time, seen by the same camera.
        lens: Where its lens goes.
        rng: Draws the noise of each frame.
        views: 2 for left and right, 1 for green.
        settle_s: How long it waits after a move before a frame is exposed.
        seconds: How long all captures would have taken.
        focus: Where the lens is really focused, in dioptres; NaN before the first capture.
        visited: The indices that were captured, in order, whole or between two.
        continuous: It goes between the positions of its grid, too.
    """

    continuous: ClassVar[bool] = True

    stage: LiveScene
    lens: VoiceCoil
    rng: np.random.Generator
    views: int = 2
    settle_s: float = SETTLE_S
    seconds: float = 0.0
    focus: float = float("nan")
    visited: list[float | int] = field(default_factory=list)
    _lit: dict[tuple[LiveScene, int], Float32[np.ndarray, "2 row col"]] = field(
        default_factory=dict, repr=False
    )

    @property
    def grid(self) -> FocusGrid:
        """Where the lens of its make can go: slices, with their dioptres."""
        return self.stage.camera.grid

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return self.stage.size, self.stage.size

    @property
    def where(self) -> tuple[float, float] | None:
        """The middle of its frames in the field; None of another make than the phone."""
        return self.stage.where if self.stage.camera.name == "pixel3" else None

    @property
    def truth(self) -> float:
        """The position, whole or fractional, at which the lens would be in focus now, if it came to rest."""
        truly = np.array([self.lens.rest(at) for at in range(len(self.grid))])
        return float(np.interp(self.stage.depth, truly, np.arange(len(truly))))

    def capture(self, index: int) -> Frame:
        """Moves the lens, waits as long as the settings say, and returns one frame."""
        return self._frame(to_index(index, self.grid))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position of the grid, or between two."""
        return self._frame(float(self.grid.position_to_index(self.grid.check(position))))

    def _frame(self, at: float | int) -> Frame:
        moved = not self.visited or self.visited[-1] != at
        self.focus = self.lens.move(at, self.settle_s if moved else FRAME_S)
        self.seconds += FRAME_S + (self.settle_s if moved else 0.0)
        self.visited.append(at)
        frame = self.stage.expose(self._light(), self.rng)
        return frame if self.views == 2 else frame.mean(axis=0, keepdims=True, dtype=np.float32)

    def _light(self) -> Float32[np.ndarray, "2 row col"]:
        step = float(np.mean(np.diff(self.grid.dioptres))) / PARTS
        part = round(self.focus / step)
        key = self.stage, part
        if key not in self._lit:
            self._lit[key] = self.stage.shine(max(part * step, 0.0))
        return self._lit[key]

    def __enter__(self) -> "SimulatedCamera":
        return self

    def __exit__(self, *_: object) -> None:
        self._lit.clear()


def draw_camera(
    seed: int,
    light: str = "normal",
    views: int = 2,
    conditions: Conditions | None = None,
    make: CameraModel | None = None,
    size: int = SIZE,
    target: bool = False,
) -> SimulatedCamera:
    """Returns a random phone before a random scene; the same for the same seed.

    Args:
        seed: Draws the phone, its lens, the scene and the light.
        light: "normal" or "dark".
        views: 2 for left and right, 1 for green.
        conditions: How hard it is; as the published data by default.
        make: The camera; the paper's phone by default.
        size: Rows and columns of a frame; even.
        target: Whether it stands before a textured plane instead of a scene.
    """
    rng, how = np.random.default_rng(seed), conditions or Conditions()
    camera = make or CameraModel.pixel3()
    device = PhoneOptics.draw(rng)
    stage = (draw_target if target else draw_stage)(camera, device, rng, how, light, size)
    return SimulatedCamera(stage, VoiceCoil(camera, how.actuator, device.lens_bias, rng), rng, views)


def open_device(address: str) -> SimulatedCamera:
    """Returns the simulated camera of an address; the module says how one looks."""
    seed, *words = address.split(",")
    rest = [word for word in words if word not in WORDS and word not in MAKES]
    sizes = [int(word) for word in rest if word.isdecimal() and len(word) < 6]
    good = all(SMALLEST <= one <= LARGEST and one % 2 == 0 for one in sizes)
    if len(rest) > 1 or len(sizes) != len(rest) or not good or not (seed.isdecimal() or not seed):
        raise InputError(
            f"a simulated camera is a seed, and after commas {', '.join(WORDS)}, an even number of pixels "
            f"from {SMALLEST} to {LARGEST}, or one of {', '.join(MAKES)}, not {address!r}"
        )
    makes = [MAKES[word]() for word in words if word in MAKES]
    return draw_camera(
        int(seed or 0),
        "dark" if "dark" in words else "normal",
        1 if "green" in words else 2,
        Conditions.exact() if "exact" in words else None,
        makes[0] if makes else None,
        sizes[0] if sizes else SIZE,
        "target" in words,
    )
