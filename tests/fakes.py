"""Methods for tests: families of one, and methods whose posterior a function gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dioptre.methods.base import Autofocuser
from dioptre.posterior import Decision, Posterior
from dioptre.stack import FocalStack


@dataclass(frozen=True)
class FamilyOf:
    """A family whose methods are all made by one function."""

    make: Callable[[], Autofocuser]

    def build(self, _key: str) -> Autofocuser:
        return self.make()

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, np.ndarray]:
        return {key: self.make().scores(stack) for key in keys}


class Probable(Autofocuser):
    """A method that knows probabilities: a subclass gives `logits`."""

    identity = "fake"

    def logits(self, stack: FocalStack) -> np.ndarray:
        raise NotImplementedError

    def posterior(self, stack: FocalStack) -> Posterior | None:
        return Posterior.of_logits(self.logits(stack), len(stack.grid), Decision.MODE)

    def scores(self, stack: FocalStack) -> np.ndarray:
        posterior = self.posterior(stack)
        assert posterior is not None
        return posterior.scores()
