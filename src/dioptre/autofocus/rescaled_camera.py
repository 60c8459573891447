"""A camera that the networks do not know, as one that they do: its lens moves by steps.

A step is taken at the nearest position that the camera's own ladder has, and pictures are cut and shrunk as
`dioptre.cameras.blur_units` says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from dioptre.cameras.base import Camera, Frame, to_index
from dioptre.cameras.blur_units import FocusSteps, StepWindow
from dioptre.errors import InputError
from dioptre.focusing.inputs import cut
from dioptre.focusing.result import Roi
from dioptre.grid import FocusGrid


@dataclass(frozen=True, eq=False)
class SteppedCamera:
    """A region of a camera's frames, at the steps of a window.

    Attributes:
        camera: The camera.
        window: The steps.
        positions: Where the positions of the camera's own ladder are that it may go to, in its own unit.
        roi: The region; None for the whole frame.
        looks: Where frames were taken, in its own unit, in order.
        indices: And at which indices of the window.
        first: Which position of that ladder is the first of these.
    """

    camera: Camera
    window: StepWindow
    positions: Float[np.ndarray, " n"]
    roi: Roi | None = None
    looks: list[float] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    first: int = 0

    @property
    def grid(self) -> FocusGrid:
        """The steps, whose dioptres nobody is told."""
        return self.window.grid

    @property
    def views(self) -> int:
        """Views of its frames."""
        return self.camera.views

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the region, shrunk."""
        rows, cols = self.camera.shape if self.roi is None else (self.roi.h, self.roi.w)
        return self.window.steps.shrunk((rows, cols))

    @property
    def where(self) -> tuple[float, float] | None:
        """Not known: another camera's field is not the phone's."""
        return None

    def capture(self, index: int) -> Frame:
        """Returns the region at the position of the camera's ladder that is nearest to a step."""
        wanted = to_index(index, self.grid)
        own = self.own_index(wanted)
        self.looks.append(float(self.positions[own - self.first]))
        self.indices.append(wanted)
        frame = cut(self.camera.capture(own), self.roi)
        return self.window.steps.shrink(np.ascontiguousarray(frame[None]))[0]

    def own_index(self, index: int) -> int:
        """Returns the position of the camera's own ladder that is nearest to a step."""
        return self.first + int(np.abs(self.window.position_to_index(self.positions) - index).argmin())


def lens_positions(
    camera: Camera, steps: FocusSteps, positions: Sequence[float] | None
) -> Float[np.ndarray, " n"]:
    """Returns where the positions of a camera's ladder are, in the unit of its steps.

    Raises:
        InputError: If they are not known, or not as many.
    """
    if positions is None and not (camera.grid.known and steps.unit == "dioptres"):
        raise InputError(
            f"say where the lens's {len(camera.grid)} positions are, in {steps.unit} (positions=...)"
        )
    values = camera.grid.dioptres if positions is None else positions
    if len(values) != len(camera.grid):
        raise InputError(f"the lens has {len(camera.grid)} positions, but {len(values)} are given")
    return np.array([steps.check(float(one)) for one in values])
