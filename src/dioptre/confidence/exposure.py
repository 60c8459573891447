"""Exposure: how bright a region is, whether it is at white, and whether there is any light in it at all.

A star field is almost black and well exposed: what tells is its brightest part, not its mean.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

SATURATED: Final = 0.5  # part of the pixels at white
DARK: Final = 0.01  # a region whose brightest part is darker shows nothing
WHITE: Final = 0.998


@dataclass(frozen=True)
class Exposure:
    """How a region was exposed, in the middle of the stack.

    Attributes:
        saturated: Part of the pixels at white.
        mean: Mean signal.
        finite: Whether no slice holds a NaN or infinite pixel.
        brightest: Of a dark region, the signal where there is most of it, in the slice that shows most; None
            if nobody looked.
    """

    saturated: float
    mean: float
    finite: bool = True
    brightest: float | None = None

    @classmethod
    def of(cls, pixels: Float32[np.ndarray, "slice view row col"]) -> "Exposure":
        """Returns the exposure of a region, the median over its slices; NaN pixels count as black."""
        return SliceExposures.of(pixels).median()

    @property
    def is_saturated(self) -> bool:
        """Whether most of the region is at white."""
        return self.saturated > SATURATED

    @property
    def is_dark(self) -> bool:
        """Whether the region is almost black, also where there is most signal."""
        return (self.mean if self.brightest is None else max(self.mean, self.brightest)) < DARK


@dataclass(frozen=True, eq=False)
class SliceExposures:
    """The same, slice by slice; the slice is the last axis."""

    saturated: Float[np.ndarray, "*region slice"]
    mean: Float[np.ndarray, "*region slice"]
    finite: Bool[np.ndarray, "*region slice"]
    brightest: Float[np.ndarray, "*region slice"] | None = None

    @classmethod
    def of(cls, pixels: Float32[np.ndarray, "slice view row col"]) -> "SliceExposures":
        """Returns the exposure of each slice."""
        totals = np.array([one.sum() for one in pixels], dtype=np.float64)
        finite = np.isfinite(totals)
        for at in np.flatnonzero(~finite):
            totals[at] = np.sum(pixels[at], where=np.isfinite(pixels[at]))
        white = np.array([np.count_nonzero(one >= WHITE) for one in pixels])
        mean = totals / pixels[0].size
        lit = [one if one >= DARK else brightest_of(each) for one, each in zip(mean, pixels, strict=True)]
        return cls(white / pixels[0].size, mean, finite, np.array(lit))

    def median(self, slices: Int[np.ndarray, " some"] | slice = slice(None)) -> Exposure:
        """Returns the exposure of some slices together."""
        return Exposure(
            float(np.median(self.saturated[slices])),
            float(np.median(self.mean[slices])),
            bool(self.finite[slices].all()),
            None if self.brightest is None else float(np.max(self.brightest[slices])),
        )


def brightest_of(views: Float32[np.ndarray, "view row col"]) -> float:
    """Returns the highest signal that two neighbouring pixels have: a hot pixel alone is no light."""
    both = np.minimum(views[..., 1:], views[..., :-1])
    return max(float(np.max(both, initial=0.0, where=np.isfinite(both))), 0.0)
