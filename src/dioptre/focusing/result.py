"""FocusResult: where the lens must go, how sure that is, and why not when it is not.

All that it says is in its user's own order and unit: `index` counts his slices or lens positions from 0, and
`position` is in the unit of the grid.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from dioptre.confidence.reasons import Reason, State
from dioptre.confidence.verdict import Verdict
from dioptre.focusing.plain import to_plain
from dioptre.focusing.trace import JointOnLens, Step
from dioptre.grid import DIOPTRES, FocusGrid, dioptres_to_metres


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
        result: What `focus` answers for that rectangle; None while nobody was asked.
        chosen: Whether it is the one that decides.
    """

    index: int
    share: float
    centre: float
    roi: Roi
    result: "FocusResult | None" = field(default=None, repr=False, compare=False)
    chosen: bool = False

    def turned(self, n: int) -> "Depth":
        """Returns the same depth, of n slices in the other order."""
        result = None if self.result is None else self.result.turned()
        return replace(self, index=n - 1 - self.index, result=result)

    def to_json(self) -> dict[str, Any]:
        """Returns the depth as finite numbers, strings and lists."""
        found: dict[str, Any] = {
            "index": self.index, "share": self.share, "roi": self.roi, "chosen": self.chosen
        }  # fmt: skip
        if self.result is not None:
            told = self.result.to_json()
            found |= {name: told[name] for name in ("position", "state", "confidence", "risk", "reasons")}
        return to_plain(found)


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


@dataclass(frozen=True, eq=False)
class FocusResult:
    """Where the lens must go, how sure that is, and why not when it is not.

        result.position, result.unit                    # where the lens must go, as its user counts
        result.index, result.subindex                   # the nearest slice, and the place between slices
        result.state, result.confidence, result.risk, result.expected_error, result.reasons

    When focusing failed, the place is the best guess.

    Attributes:
        subindex: Where the picture is sharpest, between slices, as an index.
        verdict: What that is worth. Its errors are in slices.
        scores: The focus curve of `roi`: a score for each slice, higher is sharper. Where its brightest
            places decide, as of stars, `notes` say so, and another slice than `index` may be highest.
        grid: Where the slices were taken, or where the lens can go.
        method: Key of the method.
        roi: The region that decided; None for the whole picture.
        depths: The depths at which parts of the picture are sharp, if there are several, and what is answered
            for each. `roi` is the region of the one that was chosen.
        looks: Where looks were taken, in order, in `unit`; empty if it was the whole stack.
        trace: Of a lens that was driven, every frame that was taken, in order.
        left_at: Where the lens was left, in `unit`; None if it was not driven, or if nobody knows.
        joint: Of a lens that was driven, what all frames told in the end of the focus and of the growth of
            blur; None if there was none.
        notes: How the stack was read, or what happened on the way, where that is not plain: sentences for
            people.
        preview: What was looked at, small, or a function that reads it from its files again; None if it was
            not a stack.
    """

    subindex: float
    verdict: Verdict
    scores: Float[np.ndarray, " n"]
    grid: FocusGrid
    method: str
    roi: Roi | None = None
    depths: tuple[Depth, ...] = ()
    looks: tuple[float, ...] = ()
    trace: tuple[Step, ...] = field(default=(), repr=False)
    left_at: float | None = None
    joint: JointOnLens | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    preview: Preview | Callable[[], Preview] | None = field(default=None, repr=False)

    @property
    def index(self) -> int:
        """The slice nearest to the answer, or the nearest position of the grid, counted from 0."""
        return int(np.clip(round(self.subindex), 0, len(self.grid) - 1))

    @property
    def position(self) -> float:
        """Where the lens must go, in `unit`, between the positions of the grid."""
        return float(self.grid.index_to_position(self.subindex))

    @property
    def unit(self) -> str:
        """What positions are counted in."""
        return self.grid.unit

    @property
    def state(self) -> State:
        """FOCUSED, UNCERTAIN or FAILED."""
        return self.verdict.state

    @property
    def confidence(self) -> float:
        """The probability that the picture is sharp there: within 2 steps of blur of a depth."""
        return self.verdict.confidence

    @property
    def risk(self) -> float:
        """The share of misses among answers that are as sure as this one, or surer."""
        return self.verdict.risk

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it failed, or what to beware of; machine-readable."""
        return self.verdict.reasons

    @property
    def expected_error(self) -> float | None:
        """How far off the answer is to be expected, in `unit`; None if nothing tells."""
        slices = self.verdict.expected_error
        return None if slices is None else slices * self.grid.units_per_index(self.subindex)

    @property
    def dioptres(self) -> float | None:
        """The focus there, in dioptres; None if that is not known."""
        if self.unit == DIOPTRES:
            return self.position
        return float(self.grid.index_to_dioptres(self.subindex)) if self.grid.known else None

    @property
    def distance_m(self) -> float | None:
        """The focus distance there, in metres; None if that is not known."""
        return None if self.dioptres is None else float(dioptres_to_metres(self.dioptres))

    def __repr__(self) -> str:
        reasons = "".join(f", {one.value}" for one in self.reasons)
        focus = "" if self.dioptres is None or self.unit == DIOPTRES else f", {self.dioptres:.3f} dioptres"
        return (
            f"FocusResult({self.state.value}{reasons}, {self.position:.6g} {self.unit}{focus}, index "
            f"{self.index} of {len(self.grid)}, confidence {self.confidence:.2f}, {self.method})"
        )

    def read_with(self, notes: tuple[str, ...], left_out: bool) -> "FocusResult":
        """Returns the same result, which says how its stack was read and whether pixels were left out."""
        reasons = (*self.reasons, Reason.PIXELS_LEFT_OUT) if left_out else self.reasons
        return replace(self, verdict=replace(self.verdict, reasons=reasons), notes=notes)

    def turned(self) -> "FocusResult":
        """Returns the same result, of the same slices in the other order."""
        n = len(self.grid)
        return replace(
            self,
            subindex=n - 1 - self.subindex,
            verdict=self.verdict.turned(n),
            scores=self.scores[::-1],
            grid=self.grid.turned(),
            depths=tuple(one.turned(n) for one in self.depths),
            trace=tuple(one.turned(n) for one in self.trace),
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
        # Drawing is a later room's, which this one does not know; the user need not care.
        drawing = importlib.import_module("dioptre.evaluate.focus_figure")
        return drawing.focus_figure(self, title)

    def to_json(self, full: bool = False) -> dict[str, Any]:
        """Returns the result as finite numbers, strings and lists; what is not finite is None.

        Args:
            full: With the long lists: the scores, the positions of the grid, the posteriors of the trace.
        """
        verdict = self.verdict
        found: dict[str, Any] = {
            "index": self.index,
            "subindex": self.subindex,
            "position": self.position,
            "unit": self.unit,
            "dioptres": self.dioptres,
            "distance_m": self.distance_m,
            "state": self.state,
            "confidence": self.confidence,
            "risk": self.risk,
            "expected_error": self.expected_error,
            "reasons": self.reasons,
            "method": self.method,
            "roi": self.roi,
            "depths": [one.to_json() for one in self.depths],
            "candidates": [
                {"position": self.grid.index_to_position(one.index), **one.to_json()}
                for one in verdict.candidates
            ],
            "plateau": verdict.plateau,
            "rivals": verdict.rivals,
            "looks": self.looks,
            "left_at": self.left_at,
            "trace": [one.to_json(full) for one in self.trace],
            "notes": self.notes,
        }
        if full:
            found |= {"scores": self.scores, "positions": self.grid.positions}
        return to_plain(found)
