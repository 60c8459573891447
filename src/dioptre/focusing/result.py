"""FocusResult: where the lens must go, how sure that is, and why not when it is not."""

import importlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Candidate
from dioptre.focusing.plain import to_plain
from dioptre.focusing.trace import Step


class Roi(NamedTuple):
    """A region of interest in pixels: x counts columns from the left, y rows from the top."""

    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True)
class Depth:
    """A depth at which a part of the picture is sharp.

    Attributes:
        index: The slice.
        share: How much of the picture lies at this depth.
        centre: The same with the middle counting most.
        roi: Where: the largest rectangle of it.
        dioptres: The focus there; None if it is not known.
    """

    index: int
    share: float
    centre: float
    roi: Roi
    dioptres: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns the depth as plain numbers and lists."""
        return {**asdict(self), "roi": list(self.roi)}


@dataclass(frozen=True, eq=False)
class Preview:
    """What a result looked at, in 8 bits for showing; in colour if its files have colours.

    Attributes:
        frame: The chosen slice, made smaller.
        step: By how much.
        crops: A piece at full size, of the chosen slice and of one before and one after it.
        slices: Which slices these are.
        place: Where in the picture the piece lies.
    """

    frame: UInt8[np.ndarray, "row col *rgb"]
    step: int
    crops: UInt8[np.ndarray, "k h w *rgb"]
    slices: tuple[int, ...]
    place: Roi


@dataclass(frozen=True)
class FocusResult:
    """Where the lens must go, how sure that is, and why not when it is not.

    Attributes:
        index: The sharpest slice, counted from 0 in the order of the stack. Given also when focusing
            failed, then as the best guess.
        position: The same between slices, at most one from it, by a parabola through the top of the peak.
        dioptres: The focus there; None if the positions are not known in dioptres.
        distance_m: The same in metres; None if not known.
        position_um: The place there in micrometres; None if the positions are not known in micrometres.
        state: FOCUSED, or FAILED.
        confidence: The probability that the index is at most one off where the picture is sharp; of several
            depths or peaks, times that of having chosen the one that was meant.
        scores: The focus curve of `roi`: a score for each slice, higher is sharper. Where its brightest
            places decide, as of stars, `notes` say so, and another slice than `index` may be highest.
        reasons: Why it failed, or what to beware of; machine-readable.
        method: Key of the method.
        expected_error: How many indices off the answer is to be expected; None if nothing tells, as at an end
            of the stack where the score still rises.
        risk: How often answers that are as sure are off by more than 4 of 49 positions.
        candidates: The places where the focus may be, the likeliest first, with the probability of each
            side of focus; empty if the method does not tell.
        plateau: The first and the last slice, if several are equally sharp (`plateau`); None otherwise.
        looks: The positions that were looked at, in order, in the camera's unit if one was given; empty if it
            was the whole stack.
        roi: The region that decided; None for the whole picture.
        regions: The results of all regions, if there were several; of a picture of several depths, those of
            the depths.
        depths: The depths at which parts of the picture are sharp, if there are several: slice, share of the
            picture, and where.
        rivals: Other slices that are nearly as sharp, with a valley between (`two-peaks`).
        unit: What the camera that was given counts its lens positions in; None if none was. Of looks through
            such a camera, `index`, `position` and `expected_error` are in steps (dioptre.cameras.blur_units).
        lens_position: Where the lens must go, in that unit; when focusing failed, as the best guess.
        lens_error: `expected_error` in that unit.
        positions: The position of each score, in that unit; None if no camera was given.
        trace: Of a lens that was driven, every frame that was taken, in order (`dioptre.focusing.trace`).
        left_at: Where the lens was left; None if it was not driven, or if nobody knows.
        notes: How the stack was read, or what happened on the way, where that is not plain: sentences for
            people.
        preview: What was looked at, small, or a function that reads it from its files again; None if it was
            not a stack.
    """

    index: int
    position: float
    dioptres: float | None
    distance_m: float | None
    position_um: float | None
    state: State
    confidence: float
    scores: Float[np.ndarray, " n"]
    reasons: tuple[Reason, ...]
    method: str
    expected_error: float | None = None
    risk: float = 1.0
    candidates: tuple[Candidate, ...] = ()
    plateau: tuple[int, int] | None = None
    looks: tuple[int | float, ...] = ()
    roi: Roi | None = None
    regions: tuple["FocusResult", ...] = field(default=(), repr=False)
    depths: tuple[Depth, ...] = ()
    rivals: tuple[int, ...] = ()
    unit: str | None = None
    lens_position: float | None = None
    lens_error: float | None = None
    positions: Float[np.ndarray, " n"] | None = field(default=None, repr=False)
    trace: tuple[Step, ...] = field(default=(), repr=False)
    left_at: int | None = None
    notes: tuple[str, ...] = ()
    preview: Preview | Callable[[], Preview] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        reasons = "".join(f", {one.value}" for one in self.reasons)
        focus = "" if self.dioptres is None else f", {self.dioptres:.3f} dioptres"
        focus += "" if self.position_um is None else f", {self.position_um:.6g} µm"
        return (
            f"FocusResult({self.state.value}{reasons}, index {self.index} of {len(self.scores)}, position "
            f"{self.position:.2f}{focus}, confidence {self.confidence:.2f}, {self.method})"
        )

    def shown(self) -> Preview | None:
        """Returns what was looked at, small; None if it was not a stack."""
        return self.preview() if callable(self.preview) else self.preview

    def _repr_html_(self) -> str:
        """Returns the result as notebooks show it: verdict, curve, picture."""
        from dioptre.focusing.html import to_html  # noqa: PLC0415

        return to_html(self)

    def plot(self, title: str = "") -> Any:
        """Returns the curve, where was looked, and the chosen slice at full size, as a matplotlib figure.

        Needs the extra `figures`. `figure.savefig("curve.png")` writes it.
        """
        # Drawing is a later room's, which the loop does not know; the user need not care.
        drawing = importlib.import_module("dioptre.evaluate.focus_figure")
        return drawing.focus_figure(self, title)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as finite numbers, strings and lists; what is not finite is None."""
        return self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Returns the result as finite numbers, strings and lists; what is not finite is None."""
        found = {
            "index": self.index,
            "position": self.position,
            "dioptres": self.dioptres,
            "distance_m": self.distance_m,
            "position_um": self.position_um,
            "state": self.state,
            "confidence": self.confidence,
            "expected_error": self.expected_error,
            "risk": self.risk,
            "reasons": self.reasons,
            "candidates": [asdict(one) for one in self.candidates],
            "plateau": self.plateau,
            "depths": [one.to_dict() for one in self.depths],
            "rivals": self.rivals,
            "method": self.method,
            "looks": self.looks,
            "roi": self.roi,
            "scores": self.scores,
            "unit": self.unit,
            "lens_position": self.lens_position,
            "lens_error": self.lens_error,
            "positions": self.positions,
            "trace": [one.to_json() for one in self.trace],
            "left_at": self.left_at,
            "notes": self.notes,
            "regions": [region.to_json() for region in self.regions],
        }
        return to_plain(found)
