"""What to train, and how to run it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dioptre.errors import InputError
from dioptre.methods.base import Problem
from dioptre.train import feed, loss


@dataclass(frozen=True)
class Recipe:
    """What decides a trained network, beside the data. The defaults are the paper's.

    Attributes:
        problem: The paper's problem: I* and D* see whole stacks, I1 and D1 one look; I green, D two views.
        network: "one-hot", the paper's; "move", one look as planes; "looks", any number of looks.
        width: Multiplier of the channels.
        steps: How many batches.
        batch: Patches in a batch.
        learning_rate: Of Adam, at its highest.
        beta1: Of Adam.
        beta2: Of Adam.
        schedule: "constant", or "cosine" for a short rise and a long fall to nothing.
        decay: Weight decay (AdamW's, if not 0).
        average: Decay of a running average of the weights, which is then the result; 0 for none.
        distance: Of the soft labels: "squared" or "absolute".
        coefficient: Of the soft labels: larger is sharper.
        target: "label", or "optics" for where the simulated lens really was sharp, which only a simulated
            store knows: the lens's unknown error is then a spread of the answer and not a noise of the label.
        flips: Patches turned upside down ("rows"), also mirrored ("both"), and of green also laid on their
            side ("all"): a camera may be held upright.
        quarters: Part of the steps, the first ones, that see a quarter of each patch: they take a third of
            the time, and most of what there is to learn can be learned from them.
        moves: Weight of a second answer of a one-hot network, which it forgets after training: how far to
            move. 0 for none.
        shared_stem: Whether all positions of a one-hot network begin with the same stem; of one for whole
            stacks, whether it begins as a measure of contrast.
        taught: Part of what is learned that a teacher believes of the same looks, from 0 to 1; the rest is
            the label.
        frozen: Whether what a look says alone stays what the network that it starts from says. That is then
            kept for every look, and putting looks together is learned quickly.
        expects: Where the finished network expects things before it looks: "even", anywhere alike, as the
            stores have them, or "far", the more rarely the nearer. It learns from the stores as they are;
            what it then believes is weighed by Bayes's rule.
        seed: Of everything random.
    """

    problem: Problem = Problem.SINGLE_DUAL_PIXEL
    network: Literal["one-hot", "move", "looks"] = "one-hot"
    width: float = 4.0
    steps: int = 20_000
    batch: int = 128
    learning_rate: float = 1e-3
    beta1: float = 0.5
    beta2: float = 0.999
    schedule: Literal["constant", "cosine"] = "constant"
    decay: float = 0.0
    average: float = 0.0
    distance: loss.Distance = "squared"
    coefficient: float = 1.0
    target: Literal["label", "optics"] = "label"
    flips: feed.Flips = "none"
    quarters: float = 0.0
    moves: float = 0.0
    shared_stem: bool = False
    taught: float = 0.0
    frozen: bool = False
    expects: Literal["even", "far"] = "even"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.network == "move" and self.problem.whole:
            raise InputError("a move network sees one look: --problem I1 or D1, not a whole stack")
        if self.moves and (self.network != "one-hot" or self.problem.whole):
            raise InputError("only a one-hot network of few looks can learn moves beside its answer")
        if min(self.steps, self.batch, self.width, self.learning_rate) <= 0:
            raise InputError("steps, batch, width and learning rate are positive")
        if self.frozen and (self.network != "looks" or self.flips != "none" or self.quarters):
            raise InputError(
                "only a network of looks has a network of one look to freeze; it sees patches as they are"
            )
        if self.flips == "all" and self.views == 2:
            raise InputError("two views differ along the columns and cannot lie on their side: --flips both")
        if not 0 <= self.quarters <= 1:
            raise InputError("quarters is a part of the steps, from 0 to 1")
        if not 0 <= self.taught <= 1:
            raise InputError("taught is a part of what is learned, from 0 to 1")

    @property
    def views(self) -> int:
        """1 green, 2 left and right."""
        return self.problem.views


@dataclass(frozen=True)
class Earlier:
    """Finished runs that a training builds on.

    Attributes:
        start_from: To begin with; weights whose name and shape agree are taken. A network for green can begin
            with one for two views, as if green were both, and one for two views with one for green, as if
            that were their mean.
        after: The steps before this one, the first look's first: this network then sees the start and every
            position that they chose.
        teacher: What it believes of a look is learned beside the label. Where a look has two sides, a label
            is one of them by chance, and a belief says how likely each is.
    """

    start_from: Path | None = None
    after: tuple[Path, ...] = ()
    teacher: Path | None = None

    def check(self, recipe: Recipe) -> None:
        """Raises ValueError if a recipe wants other runs than these."""
        if recipe.frozen and self.start_from is None:
            raise InputError("what is frozen is the network of a finished run: --start-from")
        if recipe.frozen and self.teacher is not None:
            raise InputError("a teacher sees looks, and a frozen network only what was said of them")
        if bool(recipe.taught) != (self.teacher is not None):
            raise InputError("--teacher and --taught belong together: whose belief is learned, and how much")


@dataclass(frozen=True)
class Practice:
    """How a training is run; none of it decides what is learned, except when it ends early.

    Attributes:
        device: "cpu", "cuda" or "mps".
        precision: "float32", or "bfloat16" for mixed precision.
        validate_every: Steps between validations.
        validate_patches: How many patches each looks at.
        patience: Validations without a lower loss after which the training ends; 0 for never.
    """

    device: str = "cpu"
    precision: Literal["float32", "bfloat16"] = "float32"
    validate_every: int = 500
    validate_patches: int = 1024
    patience: int = 0


def learning_rate(recipe: Recipe, step: int) -> float:
    """Returns Adam's learning rate at a step."""
    if recipe.schedule == "constant":
        return recipe.learning_rate
    warm = max(1, recipe.steps // 50)
    if step < warm:
        return recipe.learning_rate * (step + 1) / warm
    along = (step - warm) / max(1, recipe.steps - warm)
    return recipe.learning_rate * 0.5 * (1 + float(np.cos(np.pi * along)))
