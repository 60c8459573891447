"""What was learned of a lens and is kept: how much blur a unit of its way adds.

A file, a few lines of JSON, for one camera as its user holds it: another binning, lens or address is another
file. What is remembered is a narrow prior of the next run, so that it needs as few looks as with a camera
file. If the looks of a run contradict it, it is forgotten, and what they say is kept.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dioptre.errors import InputError
from dioptre.optics import STEP_PX
from dioptre.posterior import Growth, JointPosterior
from dioptre.store.manifest import write_file

DEVIATIONS: Final = 2.58  # 99 of 100 intervals are as wide
UNLIKELY: Final = 0.01
SURE: Final = 0.5  # deviation of the logarithm of a growth: what is known less well is not worth keeping
LEAST: Final = 0.05  # deviation that is left to a growth, however often it was seen


@dataclass(frozen=True)
class GrowthMemory:
    """A file that remembers a growth.

    Attributes:
        path: Where it is; it need not exist.
        unit: What the growth is counted in; another unit is another lens.
    """

    path: Path
    unit: str

    def recall(self) -> Growth | None:
        """Returns what is remembered; None for nothing.

        Raises:
            InputError: If the file is something else.
        """
        try:
            if not self.path.exists():
                return None
            told = json.loads(self.path.read_text(encoding="utf-8"))
            steps, deviation = float(told["blur_per_unit_px"]) / STEP_PX, float(told["deviation"])
            unit = str(told["unit"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path} does not remember a lens: {error!r}") from None
        if not (math.isfinite(steps) and steps != 0 and 0 < deviation < math.inf):
            raise InputError(f"{self.path} remembers {steps} steps of blur a unit, +- {deviation}")
        return Growth(steps, deviation) if unit == self.unit else None

    def keep(self, growth: Growth, looks: int) -> bool:
        """Remembers what was learned, if that is worth it; returns whether it was."""
        if growth.deviation > SURE:
            return False
        told = {
            "unit": self.unit,
            "blur_per_unit_px": growth.steps * STEP_PX,
            "deviation": max(growth.deviation, LEAST),
            "looks": looks,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, lambda file: file.write(json.dumps(told).encode() + b"\n"))
        return True

    def forget(self) -> None:
        """Remembers nothing any more."""
        self.path.unlink(missing_ok=True)


def is_contradicted(remembered: Growth, seen: JointPosterior) -> bool:
    """Returns whether what was seen, were nothing remembered, leaves a growth next to no probability."""
    ratios = seen.growths / remembered.steps
    near = np.abs(np.log(np.maximum(ratios, 1e-12))) <= DEVIATIONS * remembered.deviation
    return float(seen.chances.sum(axis=1)[near].sum()) < UNLIKELY
