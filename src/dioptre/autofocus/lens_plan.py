"""The plan of a run: what a lens is asked to do, once its user's words are understood."""

from dataclasses import dataclass

from dioptre.autofocus.lens_settings import LensSearch
from dioptre.autofocus.looks import LensScale
from dioptre.focusing.result import Roi
from dioptre.grid import FocusGrid
from dioptre.methods.base import Method
from dioptre.posterior import DepthPrior


@dataclass(frozen=True, eq=False)
class LensPlan:
    """What a run is asked, all of it checked; indices are those of the grid, far to near.

    Attributes:
        search: How the focus is looked for.
        scale: Where the lens can go, in a measure in which blur grows evenly.
        start: The index of the first look.
        looks: How many looks are taken at most before the lens is swept.
        prior: Where things are expected.
        method: The network that is asked about each look; None if there is nobody.
        measure: Who says how sharp looks are; None for all their detail.
        roi: The region; None for the whole frame.
        notes: What its user should know, in sentences.
    """

    search: LensSearch
    scale: LensScale
    start: int
    looks: int
    prior: DepthPrior
    method: Method | None = None
    measure: Method | None = None
    roi: Roi | None = None
    notes: tuple[str, ...] = ()

    @property
    def grid(self) -> FocusGrid:
        """Where the lens can go."""
        return self.scale.grid
