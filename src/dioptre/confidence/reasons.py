"""What becomes of focusing, and the reasons for it, in words.

A reason decides nothing: it says what an answer suffers from, and what to do. Sentences are true of a sweep,
of a few looks and of a lens.
"""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """What became of focusing.

    FOCUSED: its risk is at most what was accepted. UNCERTAIN: there is a best answer, with more risk. FAILED:
    there is nothing to answer.
    """

    FOCUSED = "focused"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


class Reason(StrEnum):
    """What an answer suffers from, or why there is none."""

    FLAT_CURVE = "flat-curve"
    ONLY_LIGHT = "only-light"
    NOWHERE_SHARP = "nowhere-sharp"
    PEAK_AT_EDGE = "peak-at-edge"
    PLATEAU = "plateau"
    SATURATED = "saturated"
    TOO_DARK = "too-dark"
    NOT_FINITE = "not-finite"
    PIXELS_LEFT_OUT = "pixels-left-out"
    TOO_FEW_SLICES = "too-few-slices"
    SEVERAL_DEPTHS = "several-depths"
    UNSURE = "unsure"
    AMBIGUOUS = "ambiguous"
    BEYOND_FAR = "beyond-the-far-end"
    BEYOND_NEAR = "beyond-the-near-end"
    ASSUMED_CAMERA = "assumed-camera"
    NOISE_PEAK = "noise-peak"
    BROKEN_SWEEP = "broken-sweep"
    FROZEN_FRAMES = "frozen-frames"
    FLICKER = "flicker"
    VIEWS_TURNED = "views-turned"
    NOT_AS_SHARP = "not-as-sharp"
    LENS_STUCK = "lens-stuck"
    STALE_FRAME = "stale-frame"
    CAMERA_FAILED = "camera-failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


WARNINGS: Final = frozenset(
    {Reason.SEVERAL_DEPTHS, Reason.PLATEAU, Reason.ASSUMED_CAMERA, Reason.PIXELS_LEFT_OUT}
)

EXPLANATIONS: Final[dict[Reason, str]] = {
    Reason.FLAT_CURVE: "no picture is clearly sharper than the others: choose a region with something in it, "
    "or move the lens farther",
    Reason.ONLY_LIGHT: "the light changes, and nothing becomes sharper: was the lens moved?",
    Reason.NOWHERE_SHARP: "no picture shows detail as fine as a sharp one does: take pictures nearer to the "
    "focus, or closer to one another",
    Reason.PEAK_AT_EDGE: "the last picture may not be the sharpest that there could be: take some beyond it",
    Reason.PLATEAU: "several pictures are equally sharp: any of them will do",
    Reason.SATURATED: "most of the region is at white: expose less",
    Reason.TOO_DARK: "the region is almost black: expose more, or give the right black and white",
    Reason.NOT_FINITE: "some pictures hold hardly any finite pixels and were left out",
    Reason.PIXELS_LEFT_OUT: "some pixels are NaN, infinite or masked and were left out of all pictures",
    Reason.TOO_FEW_SLICES: "a peak needs at least three pictures: take more",
    Reason.SEVERAL_DEPTHS: "parts of the picture are sharp at different positions: choose one with --subject "
    "or --roi",
    Reason.UNSURE: "other positions are nearly as likely: choose a region with more detail, or take more "
    "pictures",
    Reason.AMBIGUOUS: "the focus may be at either of two places: another look at a candidate tells",
    Reason.BEYOND_FAR: "the subject is farther than the lens can focus, or than these looks can tell",
    Reason.BEYOND_NEAR: "the subject is nearer than the lens can focus, or than these looks can tell",
    Reason.ASSUMED_CAMERA: "nobody said whose pictures these are, so they are taken for the published data's "
    "phone's: give a camera, or the positions",
    Reason.NOISE_PEAK: "what stands out in the best picture is not in its neighbours, and may be noise: use "
    "more light, or a larger region",
    Reason.BROKEN_SWEEP: "the pictures do not show one scene that stays where it is: something moves, or the "
    "order is wrong",
    Reason.FROZEN_FRAMES: "the very same picture comes several times around the answer: nobody knows where "
    "the lens was; take the sweep again",
    Reason.FLICKER: "the brightness changes from picture to picture: fix the exposure",
    Reason.VIEWS_TURNED: "the views differ up and down rather than sideways: turn the pictures by 90 degrees",
    Reason.NOT_AS_SHARP: "where the lens was sent, the picture is not as sharp as it should be: try again",
    Reason.LENS_STUCK: "the picture is as sharp wherever the lens is sent: does it move?",
    Reason.STALE_FRAME: "the camera gives the same frame again and again, although the lens was moved",
    Reason.CAMERA_FAILED: "the camera failed while the lens was being focused",
    Reason.CANCELLED: "the run was cancelled",
    Reason.TIMEOUT: "the time that was given was up",
}
