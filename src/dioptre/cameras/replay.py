"""A recorded stack as a camera: what was captured once is captured again, without a lens.

`replay:STACK` takes whatever `dioptre focus` does. A folder that `dioptre record` wrote brings its positions
along, and so does a microscope's file; of any other stack only the order of the slices is known.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dioptre.cameras.base import Frame, to_index
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.stack import FocalStack, codes_to_pixels
from dioptre.stacks.formats import read_pictures
from dioptre.store.recordings import Recording


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
        """Where the slices were taken."""
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

    def __enter__(self) -> "ReplayCamera":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""


def open_device(address: str) -> ReplayCamera:
    """Returns the stack at a path as a camera.

    Raises:
        InputError: If no path is given.
        FileError: If there is no stack, or it cannot be read.
    """
    if not address:
        raise InputError("say which stack is replayed: replay:STACK")
    path = Path(address)
    pictures = read_pictures(path)
    known = Recording.read(path) if path.is_dir() else None
    codes = pictures.codes
    if codes.dtype.kind == "f" and float(np.nanmax(codes)) > 2.0:
        raise InputError(f"{path} holds numbers up to {float(np.nanmax(codes)):g}: a replay's white is 1")
    pixels = np.clip(codes_to_pixels(codes, 0.0, pictures.white), 0, 1)
    grid = pictures.grid or FocusGrid(range(len(pixels))) if known is None else known.grid
    where = None if known is None or known.where is None else np.array([known.where])
    return ReplayCamera(FocalStack.full(np.ascontiguousarray(pixels[None]), grid, where))
