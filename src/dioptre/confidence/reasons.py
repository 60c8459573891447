"""What becomes of focusing, and the reasons for it, in words."""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """What became of focusing."""

    FOCUSED = "focused"
    FAILED = "failed"


class Reason(StrEnum):
    """Why focusing failed, or what to beware of."""

    FLAT_CURVE = "flat-curve"
    PEAK_AT_EDGE = "peak-at-edge"
    PLATEAU = "plateau"
    SPIKE = "spike"
    SATURATED = "saturated"
    TOO_DARK = "too-dark"
    NOT_FINITE = "not-finite"
    PIXELS_LEFT_OUT = "pixels-left-out"
    TOO_FEW_SLICES = "too-few-slices"
    TOO_SMALL = "too-small"
    TWO_PEAKS = "two-peaks"
    SEVERAL_DEPTHS = "several-depths"
    UNSURE = "unsure"
    AMBIGUOUS = "ambiguous"
    BEYOND_FAR = "beyond-the-far-end"
    BEYOND_NEAR = "beyond-the-near-end"
    ASSUMED_CAMERA = "assumed-camera"
    NOISE_PEAK = "noise-peak"
    UNEVEN_NOISE = "uneven-noise"
    BROKEN_SWEEP = "broken-sweep"
    FLICKER = "flicker"
    COMPRESSED = "compressed"
    VIEWS_TURNED = "views-turned"
    VIEWS_EXCHANGED = "views-exchanged"
    NOT_AS_SHARP = "not-as-sharp"
    LENS_STUCK = "lens-stuck"
    STALE_FRAME = "stale-frame"
    CAMERA_FAILED = "camera-failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"


WARNINGS: Final = frozenset(
    {
        Reason.TWO_PEAKS,
        Reason.SEVERAL_DEPTHS,
        Reason.PLATEAU,
        Reason.ASSUMED_CAMERA,
        Reason.PIXELS_LEFT_OUT,
    }
)

EXPLANATIONS: Final[dict[Reason, str]] = {
    Reason.FLAT_CURVE: "no slice stands out of the noise: nothing to focus on here, or no slice near focus",
    Reason.PEAK_AT_EDGE: "the score still rises where the stack ends: the best focus lies beyond it",
    Reason.PLATEAU: "several slices are equally sharp: the subject is far, or the steps are fine",
    Reason.SPIKE: "one slice stands out alone: a flicker or a faulty picture rather than a focus peak",
    Reason.SATURATED: "most of the region is at white: expose less",
    Reason.TOO_DARK: "the region is almost black: expose more, or give the right black and white",
    Reason.NOT_FINITE: "some slices hold hardly any finite pixels and were left out",
    Reason.PIXELS_LEFT_OUT: "some pixels are NaN, infinite or masked and were left out of all slices",
    Reason.TOO_FEW_SLICES: "a peak needs at least three slices",
    Reason.TOO_SMALL: "so few slices of so small a region do not tell focus from noise: take more of either",
    Reason.TWO_PEAKS: "another slice is nearly as sharp: choose a smaller region",
    Reason.SEVERAL_DEPTHS: "parts of the picture are sharp at different slices: choose a subject or a region",
    Reason.UNSURE: "many positions are as likely: nothing to focus on, or a look too few",
    Reason.AMBIGUOUS: "the focus may be on either side of the look: another look at a candidate tells",
    Reason.BEYOND_FAR: "the subject is farther than the lens can focus, or than these looks can tell",
    Reason.BEYOND_NEAR: "the subject is nearer than the lens can focus, or than these looks can tell",
    Reason.ASSUMED_CAMERA: "nobody said whose pictures these are, so they are taken for the published data's "
    "phone's: give a camera, or the positions",
    Reason.NOISE_PEAK: "what stands out in the best slice is not in its neighbours: noise rather than detail",
    Reason.UNEVEN_NOISE: "the noise changes from slice to slice: fix gain and exposure, switch denoising off",
    Reason.BROKEN_SWEEP: "some slices do not follow from their neighbours: repeated, missing, out of order, "
    "or of another subject",
    Reason.FLICKER: "the brightness changes from slice to slice",
    Reason.COMPRESSED: "the blocks of strong compression are larger than the detail: save with less of it",
    Reason.VIEWS_TURNED: "the views differ up and down rather than sideways: turn the pictures by 90 degrees",
    Reason.VIEWS_EXCHANGED: "the views move against each other the wrong way: left and right are exchanged",
    Reason.NOT_AS_SHARP: "where the lens was sent, the picture is not as sharp as it should be",
    Reason.LENS_STUCK: "the picture is as sharp wherever the lens is sent: does it move?",
    Reason.STALE_FRAME: "the camera gives the same frame again and again, although the lens was moved",
    Reason.CAMERA_FAILED: "the camera failed while the lens was being focused",
    Reason.CANCELLED: "the run was cancelled",
    Reason.TIMEOUT: "the time that was given was up",
}
