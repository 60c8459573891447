"""A lens's settings, each declared once: `Autofocus`, the command line and a run read the same.

Positions are in the unit of the lens's grid. Nothing heavy is imported here: `dioptre run --help` reads it.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from dioptre.errors import InputError

if TYPE_CHECKING:
    from dioptre.grid import FocusGrid

PATIENCE_S: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class LensMotion:
    """How a lens moves, in its own unit and in seconds.

    Attributes:
        limits: Two positions between which the lens stays, such as 20000,60000; all of its way by default.
        backlash: How far the lens goes too far and comes back, so that it always arrives by rising positions;
            negative to arrive by falling ones.
        settle: Seconds to wait after each move before another frame is taken, for a camera that says too
            early that its lens stands still.
        timeout: Seconds that all of it may take; any time by default.
        patience: Seconds in which a camera that is told to stop must do so, before it is left to itself.
    """

    limits: tuple[float | int, float | int] | None = field(default=None, metadata={"value": "FIRST,LAST"})
    backlash: float | int = 0.0
    settle: float | int = field(default=0.0, metadata={"value": "SECONDS"})
    timeout: float | int | None = field(default=None, metadata={"value": "SECONDS"})
    patience: float | int = field(default=PATIENCE_S, metadata={"value": "SECONDS"})

    def __post_init__(self) -> None:
        for name in ("settle", "patience"):
            _check_seconds(name, getattr(self, name), least=0.0)
        if self.timeout is not None and not (_is_number(self.timeout) and self.timeout > 0):
            raise InputError(f"timeout is a number of seconds above 0, not {self.timeout!r}")
        if not _is_number(self.backlash):
            raise InputError(f"backlash is a number in the unit of the lens, not {self.backlash!r}")

    def limits_on(self, grid: "FocusGrid") -> tuple[int, int]:
        """Returns the first and the last index of a grid that the lens may go to.

        Raises:
            InputError: If the limits are no positions of it.
        """
        if self.limits is None:
            return 0, len(grid) - 1
        try:
            first, last = sorted(grid.index_near(one) for one in self.limits)
        except (TypeError, ValueError) as error:
            raise InputError(f"the limits of a lens are two of its positions: {error}") from None
        return first, last


@dataclass(frozen=True, kw_only=True)
class LensSearch:
    """How the focus is looked for.

    Attributes:
        method: A network for looks, or a measure to sweep with: a key that `dioptre methods` lists. By
            default dioptre-any-green, or dioptre-any-dp for two views.
        looks: How many looks to take at most before the lens is swept; by default 8 with two views, 12 with
            one. It takes as many as it needs.
        fallback: What to do if looks are not enough: sweep, or none.
        risk: How often an answer that is called focused may be a miss: nothing in the region is sharp.
        prior: Where focus is expected: even, far (rooms, landscapes), weights from far to near, or a file of
            them.
        start: Where the first look is taken; the middle by default.
        on_failure: Where the lens is left if focusing failed: where it began, or where it is. It goes to an
            uncertain answer in either case.
    """

    method: str | None = field(default=None, metadata={"value": "KEY"})
    looks: int | None = None
    fallback: Literal["sweep", "none"] = "sweep"
    risk: float = field(default=0.01, metadata={"value": "PROBABILITY"})
    prior: Any = field(default="even", metadata={"value": "even|far|LIST|FILE"})
    start: float | int | None = field(default=None, metadata={"value": "POSITION"})
    on_failure: Literal["return", "stay"] = "return"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_seconds(name: str, value: Any, least: float) -> None:
    if not (_is_number(value) and value >= least):
        raise InputError(f"{name} is a number of seconds, {least:g} or more, not {value!r}")
