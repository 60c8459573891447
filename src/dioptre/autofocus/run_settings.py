"""The plan of a run: what a lens is asked to do, as one value that a user's words were made into."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dioptre.cameras.blur_units import FocusSteps
from dioptre.focusing.result import Roi
from dioptre.methods.base import ANY, Method
from dioptre.posterior import DepthPrior


@dataclass(frozen=True, eq=False)
class LensRunSettings:
    """What a run is asked, all of it checked.

    Attributes:
        method: Who is asked about looks; None if there is nobody, and the lens is swept at once.
        measure: Who scores the frames of a sweep; None to choose by what is seen.
        looks: How many looks the method takes at most.
        start: Where the first look is taken.
        prior: Where things are expected.
        sure: How much of the posterior must lie within an index of the answer to stop early; None to stop as
            soon as the answer can be taken.
        risk: How often an answer that is called focused may be a miss.
        sweeps: Whether the lens is swept if the looks do not do.
        insists: Whether it is also swept where that would seldom find more than looks that are not sure.
        returns: Whether it goes back to the start if nothing is in focus.
        roi: The region.
        steps: Of a camera that the networks do not know, how its positions become steps.
        own: And where the positions of its ladder are, in the unit of these.
        notes: What its user should know, in sentences.
    """

    method: Method | None
    measure: Method | None
    looks: int
    start: int
    prior: DepthPrior
    sure: float | None
    risk: float
    sweeps: bool
    returns: bool
    roi: Roi | None = None
    steps: FocusSteps | None = None
    own: Float[np.ndarray, " n"] | None = None
    notes: tuple[str, ...] = ()
    insists: bool = False

    @property
    def closes(self) -> bool:
        """Whether looks are taken until their answer is sure, with what their contrast says."""
        several = self.method is not None and self.method.looks == ANY
        return several and self.sure is None and self.steps is None
