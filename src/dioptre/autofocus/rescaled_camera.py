"""A camera that the networks do not know, as one that they do: its lens moves by steps.

A step is taken at the nearest position that the camera's own grid has, and pictures are cut and shrunk as
`dioptre.cameras.blur_units` says.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from dioptre.cameras.base import Camera, Frame, to_index
from dioptre.cameras.blur_units import StepWindow
from dioptre.focusing.inputs import cut
from dioptre.focusing.result import Roi
from dioptre.grid import FocusGrid


@dataclass(frozen=True, eq=False)
class SteppedCamera:
    """A region of a camera's frames, at the steps of a window.

    Attributes:
        camera: The camera.
        window: The steps.
        positions: The positions of the camera's own grid that it may go to.
        roi: The region; None for the whole frame.
        looks: The positions at which frames were taken, in order.
        indices: And at which indices of the window.
        first: The index of the first of these on that grid.
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
        """The steps that a network knows."""
        return self.window.every_step()

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
        """Returns the region at the position of the camera's grid that is nearest to a step."""
        wanted = to_index(index, self.grid)
        own = self.own_index(wanted)
        self.looks.append(float(self.positions[own - self.first]))
        self.indices.append(wanted)
        frame = cut(self.camera.capture(own), self.roi)
        return self.window.steps.shrink(np.ascontiguousarray(frame[None]))[0]

    def own_index(self, index: int) -> int:
        """Returns the position of the camera's own grid that is nearest to a step."""
        return self.first + int(np.abs(self.window.position_to_index(self.positions) - index).argmin())
