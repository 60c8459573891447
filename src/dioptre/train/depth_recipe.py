"""What decides a trained depth network, beside its pictures: plain values, without torch."""

from dataclasses import dataclass
from typing import Final

from dioptre.errors import InputError

WARM: Final = 60  # steps over which the learning rate rises
FALL: Final = 0.25  # of the steps, the last ones, over which it falls


@dataclass(frozen=True)
class DepthRecipe:
    """How a depth network is trained.

    Attributes:
        width: Multiplier of the channels.
        steps: How many batches.
        batch: Pictures of the largest size in a batch; of smaller ones as many as have as many pixels.
        sizes: Rows and columns of the pictures in a batch, drawn evenly.
        learning_rate: Of AdamW: a short rise, then even, and over the last quarter a fall to nothing.
        ema: Decay of the moving average of the weights, which is the result.
        validate_every: Steps between validations, each followed by a checkpoint.
        seed: Of everything random.
    """

    width: float = 1.0
    steps: int = 3000
    batch: int = 2
    sizes: tuple[int, ...] = (128, 192, 256)
    learning_rate: float = 2e-3
    ema: float = 0.995
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
        rise = min(1.0, (step + 1) / WARM)
        fall = min(1.0, (self.steps - step) / (self.steps * FALL))
        return self.learning_rate * rise * fall
