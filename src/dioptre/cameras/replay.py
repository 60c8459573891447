"""A recorded stack as a camera: what was captured once is captured again, without a lens."""

from dataclasses import dataclass, field

from dioptre.cameras.base import Frame, to_index
from dioptre.errors import InputError
from dioptre.optics import FocusGrid
from dioptre.stack import FocalStack


@dataclass(frozen=True, eq=False)
class ReplayCamera:
    """Plays back the slices of one recorded scene.

    Attributes:
        stack: All slices of one scene, in any order.
        visited: The positions that were captured, in order.
    """

    stack: FocalStack
    visited: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        slices = sorted(self.stack.indices[0].tolist())
        if self.stack.batch != 1 or slices != list(range(len(self.stack.grid))):
            raise InputError(
                f"a replay needs every slice of one scene once, not {self.stack.indices.shape[1]} slices of "
                f"{len(self.stack.grid)} positions of {self.stack.batch} scenes"
            )

    @property
    def grid(self) -> FocusGrid:
        """The ladder that the stack was recorded on."""
        return self.stack.grid

    @property
    def views(self) -> int:
        """Views of the recorded slices."""
        return self.stack.views

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the recorded slices."""
        return self.stack.shape

    @property
    def where(self) -> tuple[float, float] | None:
        """Where the recorded patch lies in the frame, if that is known."""
        if self.stack.where is None:
            return None
        x, y = self.stack.where[0].tolist()
        return x, y

    def capture(self, index: int) -> Frame:
        """Returns the slice that was recorded at a position."""
        at = to_index(index, self.grid)
        self.visited.append(at)
        return self.stack.at([at]).pixels[0, 0]
