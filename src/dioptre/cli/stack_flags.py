"""The flags that say what is read from the file of a stack, which `focus` and `map` share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from dioptre.stacks.axes import Wanted


@dataclass(frozen=True)
class StackFlags:
    """What is read from the file of a stack.

    Attributes:
        axes: The axes of an array or a TIFF, a letter each, such as ZYX: Z slices, Y rows, X columns,
            C channels, T times, P positions of the stage, V views, S colours.
        channel: Channel of a microscope's file, by its name or its number from 0.
        time: Time of a microscope's file, from 0.
        position: Position of the microscope's stage, from 0.
        views: Two channels are the left and the right view.
        max_gigabytes: Memory that the pictures may take; half of the machine's by default.
    """

    axes: Annotated[str | None, tyro.conf.arg(metavar="LETTERS")] = None
    channel: Annotated[str | None, tyro.conf.arg(metavar="NAME|N")] = None
    time: int | None = None
    position: int | None = None
    views: bool = False
    max_gigabytes: Annotated[float | None, tyro.conf.arg(metavar="GB")] = None

    def wanted(self) -> "Wanted":
        """Returns them as readers of files take them."""
        from dioptre.stacks.axes import Wanted  # noqa: PLC0415

        return Wanted(self.axes, self.channel, self.time, self.position, self.views)
