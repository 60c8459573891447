"""The flags that say how a stack is read and where its slices were taken, which `focus` and `map` share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from dioptre.errors import DioptreError

if TYPE_CHECKING:
    from dioptre.grid import FocusGrid
    from dioptre.stacks.axes import Wanted
    from dioptre.stacks.pictures import Pictures


@dataclass(frozen=True)
class StackFlags:
    """Which part of a stack's file is read, and how.

    Attributes:
        axes: The axes of an array or a TIFF, a letter each, such as ZYX: Z slices, Y rows, X columns,
            C channels, T times, P positions of the stage, V views, S colours.
        channel: Channel of a microscope's file, by its name or its number from 0.
        time: Time of a microscope's file, from 0.
        position: Position of the microscope's stage, from 0.
        views: Two channels are the left and the right view.
        focus_along: Axis along which the focus was moved, if the file does not call it Z: T insists that
            times are slices.
        max_gigabytes: Memory that the pictures may take; half of the machine's by default.
    """

    axes: Annotated[str | None, tyro.conf.arg(metavar="LETTERS")] = None
    channel: Annotated[str | None, tyro.conf.arg(metavar="NAME|N")] = None
    time: int | None = None
    position: int | None = None
    views: bool = False
    focus_along: Annotated[str | None, tyro.conf.arg(metavar="LETTER")] = None
    max_gigabytes: Annotated[float | None, tyro.conf.arg(metavar="GB")] = None

    def wanted(self) -> "Wanted":
        """Returns them as readers of files take them."""
        from dioptre.stacks.axes import Wanted  # noqa: PLC0415

        return Wanted(self.axes, self.channel, self.time, self.position, self.views, self.focus_along)


def read_flags(
    positions: str | None, camera: str | None, pictures: "Pictures", way: bool = False
) -> "FocusGrid | None":
    """Returns where slices were taken, of --positions and --camera; None if neither is told, nor by the file.

    Args:
        positions: As --positions says it.
        camera: As --camera says it.
        pictures: The slices; of a recording, the folder tells.
        way: Whether positions are those that the lens can go to, and not the slices'.

    Raises:
        DioptreError: If they cannot be used.
    """
    from dioptre.cameras.camera_files import describe  # noqa: PLC0415
    from dioptre.focusing.inputs import read_grid  # noqa: PLC0415
    from dioptre.focusing.slices import grid_of_pictures  # noqa: PLC0415
    from dioptre.grid import FocusGrid  # noqa: PLC0415
    from dioptre.stacks.positions import NAMES  # noqa: PLC0415

    told = None if camera is None else describe(camera)
    if positions is not None:
        try:
            return read_grid(
                positions, () if way and not positions.startswith(NAMES) else pictures.names, told
            )
        except DioptreError as error:
            raise type(error)(f"{error} (--positions)") from None
    own = grid_of_pictures(pictures)
    if told is None or own is None:
        return own if told is None else told.grid()
    return FocusGrid(own.positions, own.unit, own.dioptres, nearer=own.nearer, camera=told)
