"""The plan of a run: what a lens is asked to do, once its user's words are understood."""

from dataclasses import dataclass

from dioptre.autofocus.lens_settings import LensSearch
from dioptre.cameras.blur_units import BlurSteps
from dioptre.focusing.result import Roi
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, Method
from dioptre.posterior import DepthPrior


@dataclass(frozen=True, eq=False)
class LensPlan:
    """What a run is asked, all of it checked; indices are those of the grid, far to near.

    Attributes:
        search: How the focus is looked for.
        grid: Where the lens can go.
        start: The index of the first look.
        looks: How many looks the method takes at most.
        prior: Where things are expected.
        method: Who is asked about looks; None if there is nobody, and the lens is swept at once.
        measure: Who scores the frames of a sweep; None to choose by what is seen.
        roi: The region; None for the whole frame.
        notes: What its user should know, in sentences.
    """

    search: LensSearch
    grid: FocusGrid
    start: int
    looks: int
    prior: DepthPrior
    method: Method | None = None
    measure: Method | None = None
    roi: Roi | None = None
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> BlurSteps | None:
        """How positions become steps of blur, through a camera that the networks are told; None otherwise."""
        return None if self.grid.blur_per_unit_px is None else BlurSteps(self.grid)

    @property
    def closes(self) -> bool:
        """Whether looks are taken until their answer is sure, with what their contrast says."""
        several = self.method is not None and self.method.looks == ANY
        return several and self.search.sure is None and self.steps is None
