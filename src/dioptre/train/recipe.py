"""What to train, how to run it, and what it builds on: plain values, which the command line reads.

This module does not know torch.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from dioptre.errors import InputError
from dioptre.problem import Problem

Kind = Literal["one-hot", "move", "looks"]
Distance = Literal["squared", "absolute"]
Flips = Literal["none", "rows", "both", "all"]

WIDEST = 16.0  # times the channels; the paper's is 4
PARTS = {"crops": "the steps", "untold": "the patches", "distillation": "what is learned"}


@dataclass(frozen=True)
class Recipe:
    """What decides a trained network, beside the data and the runs that it builds on.

    The defaults are the paper's.

    Attributes:
        problem: Whole stacks (*) or one look (1), green (I) or left and right views (D).
        network: The paper's; one look as planes, told as a move; any number of looks.
        width: Multiplier of the channels.
        steps: How many batches.
        batch: Patches in a batch (for any number of looks: looks).
        learning_rate: Of Adam, at its highest.
        beta1: Of Adam.
        beta2: Of Adam.
        schedule: Of the learning rate: cosine is a short rise and a long fall to nothing.
        weight_decay: AdamW's; 0 for none.
        ema: Decay of an exponential moving average of the weights, which is then the result; 0 for none.
        distance: Of the soft labels: which distance from the target makes a position wrong.
        coefficient: Of the soft labels: larger is sharper.
        target: What is learned: the label, or where a simulated lens really was sharp (only simulated stores
            know), so that the lens's unknown error is a spread of the answer.
        flips: Turn patches upside down; also mirror them (views change places); also lay green on its side,
            since a camera may be held upright.
        crops: Part of the steps, the first ones, that see a crop of half the rows and columns: most is
            learned there in a third of the time.
        untold: Part of the patches whose lens position the network is not told, and likewise whose place in
            the frame, so that it also works where these are not known.
        auxiliary: Weight of the loss of an auxiliary head of a one-hot network, which is dropped after
            training: how far to move. 0 for none.
        shared_stem: Let all positions of a one-hot network begin with the same stem; of one for whole stacks,
            begin as a measure of contrast.
        distillation: Part of what is learned that is the teacher's posterior of the same looks, 0 to 1; the
            rest is the label.
        frozen: Keep what a look says alone as in the network that is started from. It is then cached for
            every look, and putting looks together is learned quickly.
        seed: Of everything random.
    """

    problem: Problem = Problem.SINGLE_DUAL_PIXEL
    network: Kind = "one-hot"
    width: float = 4.0
    steps: int = 20_000
    batch: int = 128
    learning_rate: float = 1e-3
    beta1: float = 0.5
    beta2: float = 0.999
    schedule: Literal["constant", "cosine"] = "constant"
    weight_decay: float = 0.0
    ema: float = 0.0
    distance: Distance = "squared"
    coefficient: float = 1.0
    target: Literal["label", "optics"] = "label"
    flips: Flips = "none"
    crops: float = 0.0
    untold: float = 0.0
    auxiliary: float = 0.0
    shared_stem: bool = False
    distillation: float = 0.0
    frozen: bool = False
    seed: int = 0

    def check(self) -> None:
        """Raises InputError if it cannot be trained; checked when a training begins."""
        if self.network == "move" and self.problem.whole:
            raise InputError("a move network sees one look: --problem I1 or D1, not a whole stack")
        if self.auxiliary and (self.network != "one-hot" or self.problem.whole):
            raise InputError("only a one-hot network of few looks has an auxiliary head for moves")
        if self.shared_stem and self.network != "one-hot":
            raise InputError(f"only a one-hot network has a stem for each position, not a {self.network} one")
        if min(self.steps, self.batch, self.width, self.learning_rate) <= 0:
            raise InputError("steps, batch, width and learning rate are positive")
        if self.seed < 0:
            raise InputError(f"a seed is 0 or more, not {self.seed} (--seed)")
        if self.frozen and (self.network != "looks" or self.flips != "none" or self.crops):
            raise InputError(
                "only a network of looks has a network of one look to freeze; it sees patches as they are"
            )
        if self.flips == "all" and self.views == 2:
            raise InputError("two views differ along the columns and cannot lie on their side: --flips both")
        for name, of in PARTS.items():
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is a part of {of}, from 0 to 1, not {getattr(self, name):g}")

    @property
    def views(self) -> int:
        """1 green, 2 left and right."""
        return self.problem.views

    def to_json(self) -> dict[str, Any]:
        """Returns the recipe as plain JSON."""
        return asdict(self) | {"problem": str(self.problem)}

    @classmethod
    def from_json(cls, entries: dict[str, Any]) -> "Recipe":
        """Returns the recipe that `to_json` wrote.

        Raises:
            InputError: If there is no network so wide.
            KeyError, TypeError, ValueError: If it is no recipe.
        """
        width = entries.get("width", cls.width)
        if not isinstance(width, int | float) or not 0 < width <= WIDEST:
            raise InputError(f"the width of a network is above 0 and at most {WIDEST:g}, not {width!r}")
        return cls(**{**entries, "problem": Problem(entries["problem"])})


@dataclass(frozen=True)
class BuildsOn:
    """Finished runs that a training builds on, by their folders.

    Attributes:
        start_from: A finished run to begin with: weights that fit are taken, also between green and two
            views.
        after: For a later step: the finished run of each step before it, the first one first. The network
            then sees the start and every position that they chose.
        teacher: A finished run of the same problem, whose posterior is learned too (--distillation): where a
            look has two sides, its label is one of them by chance.
    """

    start_from: Path | None = None
    after: tuple[Path, ...] = ()
    teacher: Path | None = None

    def check(self, recipe: Recipe) -> None:
        """Raises InputError if a recipe needs other runs than these."""
        if recipe.frozen and self.start_from is None:
            raise InputError("what is frozen is the network of a finished run: --start-from")
        if recipe.frozen and self.teacher is not None:
            raise InputError("a teacher sees looks, and a frozen network only what is cached of them")
        if bool(recipe.distillation) != (self.teacher is not None):
            raise InputError(
                "--teacher and --distillation belong together: whose posterior is learned, and how much"
            )


@dataclass(frozen=True)
class RunSettings:
    """How a training is run; none of it decides what is learned, except when it ends early.

    Attributes:
        device: Where it is computed: cpu, cuda or mps.
        precision: bfloat16 for mixed precision, which pays on a GPU and at large widths.
        validate_every: Steps between validations, each followed by a checkpoint.
        validate_patches: How many patches a validation looks at.
        patience: End after so many validations without a lower loss; 0 for never.
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
    return recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * along))
