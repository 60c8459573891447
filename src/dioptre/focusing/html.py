"""A result as a piece of HTML, as notebooks show it: verdict, curve and picture, without any library."""

import base64
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np

from dioptre.grid import DIOPTRES, SLICE
from dioptre.stacks.encoding import to_png

if TYPE_CHECKING:
    from dioptre.focusing.result import FocusResult

WIDTH: Final = 320  # of the curve, in pixels
HEIGHT: Final = 120
INK, CHOSEN, UNCERTAIN, FAILED, TIED = "#20435c", "#d95f02", "#f2c100", "#a0a0a0", "#f3d9c4"
COLOURS: Final = {"focused": CHOSEN, "uncertain": UNCERTAIN}
WORDS: Final = {"uncertain": " (the best answer there is)", "failed": " (nothing to answer)"}


def to_html(result: "FocusResult") -> str:
    """Returns a result as HTML."""
    reasons = "".join(f", {escape(one.value)}" for one in result.reasons)
    state = escape(result.state.value)
    dot = f'<span style="color:{COLOURS.get(state, FAILED)}">&#9679;</span>'
    head = (
        f"{dot} <b>{state}</b>{WORDS.get(state, '')}{reasons}: slice {result.index} ({result.subindex:.2f})"
    )
    if result.unit not in (SLICE, DIOPTRES):
        head += f", {result.position:.6g} {escape(result.unit)}"
    if result.dioptres is not None:
        head += f", {result.dioptres:.3f} dioptres"
    below = f"confidence {result.confidence:.2f}, risk {result.risk:.2g}, {escape(result.method)}"
    return (
        f'<div style="font-family:sans-serif;font-size:13px"><div>{head}</div><div>{below}</div>'
        f'<div style="display:flex;gap:12px;align-items:center">{_curve(result)}{_picture(result)}</div>'
        "</div>"
    )


def _curve(result: "FocusResult") -> str:
    scores = np.asarray(result.scores, dtype=np.float64)
    finite = np.isfinite(scores)
    low, span = (scores[finite].min(), np.ptp(scores[finite]) or 1.0) if finite.any() else (0.0, 1.0)
    x = 6 + (WIDTH - 12) * np.arange(len(scores)) / max(len(scores) - 1, 1)
    y = HEIGHT - 8 - (HEIGHT - 16) * (np.where(finite, scores, low) - low) / span
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[finite], y[finite], strict=True))
    colour = COLOURS.get(result.state, FAILED)
    flat = ""
    answered = result.state != "failed"
    if answered and result.verdict.plateau is not None:
        first, last = (float(x[one]) for one in result.verdict.plateau)
        flat = f'<rect x="{first:.1f}" y="0" width="{last - first:.1f}" height="{HEIGHT}" fill="{TIED}"/>'
    rivals = "".join(
        f'<circle cx="{x[one]:.1f}" cy="{y[one]:.1f}" r="4" fill="none" stroke="{CHOSEN}"/>'
        for one in result.verdict.rivals
        if answered
    )
    top = f'<circle cx="{x[result.index]:.1f}" cy="{y[result.index]:.1f}" r="5" fill="{colour}"/>'
    line = f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="1.5"/>'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{flat}{line}{rivals}{top}</svg>'


def _picture(result: "FocusResult") -> str:
    shown = result.shown()
    if shown is None:
        return ""
    coded = base64.b64encode(to_png(shown.frame)).decode()
    return f'<img height="{HEIGHT}" alt="slice {result.index}" src="data:image/png;base64,{coded}"/>'
