"""The faults that sweeps are put to, as a table: what the world does, and whether it can be seen at all.

Some faults cannot be seen in what is left of them: from one look, nobody can tell that the two views were
exchanged. Such a row says from how many looks on it can be decided. A sweep in which there is nothing to
focus on has no right answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lab import degradations
from lab.degradations import Rng, Sweep

WHOLE_SWEEP: Final = 10  # looks: fewer do not show what went wrong along the sweep
NEVER: Final = 1000  # looks: no number of them shows it


@dataclass(frozen=True)
class Fault:
    """One row of FAULTS.

    Attributes:
        name: As tables print it.
        does: What the world does.
        apply: Does it: (sweep, another sweep, generator) -> sweep.
        decided_from: Looks from which on it can be seen at all; where fewer are taken, a table names the row
            undecidable.
        beyond: Whether the sweep must be of a subject beyond the ends of the ladder.
        told: Whether it is about where the lens is told to be, which a whole stack does not ask.
        of_scene: Whether it is the scene that is hard, and the camera works as it should.
    """

    name: str
    does: str
    apply: Callable[[Sweep, Sweep, Rng], Sweep]
    decided_from: int = 1
    beyond: bool = False
    told: bool = False
    of_scene: bool = False

    def is_decidable(self, looks: int) -> bool:
        """Returns whether so many looks can show it; 0 for the whole stack."""
        return self.decided_from < NEVER and (looks == 0 or looks >= self.decided_from)


_ROWS: Final = (
    Fault("clean", "nothing", degradations.clean, of_scene=True),
    Fault(
        "low-light",
        "so little light that noise is as large as texture",
        degradations.low_light,
        of_scene=True,
    ),
    Fault("flicker", "every slice has another brightness", degradations.flicker),
    Fault("mains-bands", "bands of mains light", degradations.mains_bands),
    Fault("exposure-drift", "the exposure drifts along the sweep", degradations.exposure_drift),
    Fault("exposure-steps", "the exposure jumps a few times", degradations.exposure_steps),
    Fault("auto-gain", "gain lifts the noise of some slices", degradations.auto_gain),
    Fault("denoiser", "a denoiser switches on or off", degradations.denoiser),
    Fault("saturation", "a good part is white", degradations.saturation),
    Fault("hot-pixels", "pixels are always white, some blink", degradations.hot_pixels),
    Fault("hot-rows", "rows are too bright in some slices", degradations.hot_rows),
    Fault("dust", "dust on the sensor is always sharp", degradations.dust),
    Fault("text-overlay", "a clock and a counter are burnt in", degradations.text_overlay),
    Fault("jpeg", "strong JPEG", degradations.jpeg),
    Fault("hand-shake", "the picture wanders and smears", degradations.hand_shake),
    Fault("moving-subject", "the subject moves through the picture", degradations.moving_subject),
    Fault("replaced-subject", "another subject takes the place", degradations.replaced_subject, WHOLE_SWEEP),
    Fault(
        "two-depths", "two subjects at two depths; either is right", degradations.two_depths, of_scene=True
    ),
    Fault("periodic-texture", "stripes and checks", degradations.periodic_texture, of_scene=True),
    Fault("smooth-blob", "too smooth for contrast; two views tell", degradations.smooth_blob, of_scene=True),
    Fault(
        "smooth-gradient",
        "a smooth gradient: nothing to focus on",
        degradations.smooth_gradient,
        of_scene=True,
    ),
    Fault("blank-wall", "nothing to focus on", degradations.blank_wall, of_scene=True),
    Fault("noisy-wall", "nothing to focus on, and a bump of noise", degradations.noisy_wall),
    Fault("duplicated", "the same picture at some positions", degradations.duplicated, WHOLE_SWEEP),
    Fault("missing", "some pictures are black", degradations.missing),
    Fault("shuffled", "the slices are out of order", degradations.shuffled, WHOLE_SWEEP),
    Fault("views-exchanged", "right for left", degradations.views_exchanged, 2),
    Fault("views-turned", "portrait pictures: disparity along the rows", degradations.views_turned),
    Fault("view-dimmer", "one view gets less light", degradations.view_dimmer),
    Fault("told-wrong", "the lens is 12 positions off", degradations.told_wrong, NEVER, told=True),
    Fault("beyond", "the subject lies beyond an end", degradations.clean, beyond=True, of_scene=True),
)

FAULTS: Final[Mapping[str, Fault]] = {row.name: row for row in _ROWS}
