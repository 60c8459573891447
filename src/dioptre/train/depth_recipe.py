"""What decides a trained depth network, beside its pictures: plain values, without torch."""

import math
from dataclasses import dataclass

from dioptre.errors import InputError


@dataclass(frozen=True)
class DepthRecipe:
    """How a depth network is trained.

    Attributes:
        width: Multiplier of the channels.
        steps: How many batches.
        batch: Pictures of the largest size in a batch; of smaller ones as many as have as many pixels.
        sizes: Rows and columns of the pictures in a batch, drawn evenly.
        learning_rate: Of AdamW, at its highest: a short rise and a long fall along a cosine.
        ema: Decay of the moving average of the weights, which is the result.
        validate_every: Steps between validations, each followed by a checkpoint.
        seed: Of everything random.
    """

    width: float = 1.0
    steps: int = 4000
    batch: int = 4
    sizes: tuple[int, ...] = (128, 192, 256, 384)
    learning_rate: float = 3e-3
    ema: float = 0.998
    validate_every: int = 500
    seed: int = 0

    def check(self) -> None:
        """Raises InputError if it cannot be trained."""
        if min(self.steps, self.batch, self.validate_every, self.width, self.learning_rate) <= 0:
            raise InputError("steps, batch, width and learning rate are positive")
        if not self.sizes or any(size % 32 or size <= 0 for size in self.sizes):
            raise InputError(f"sizes of pictures are multiples of 32, not {self.sizes}")

    def learning_rate_at(self, step: int) -> float:
        """Returns the learning rate at a step."""
        warm = max(1, self.steps // 50)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        along = (step - warm) / max(1, self.steps - warm)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * along))
