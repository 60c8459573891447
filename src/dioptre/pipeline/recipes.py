"""The shipped networks as rows of data: their stores, their stages, what each stage builds on.

`dioptre train --recipe NAME OUT` makes one of them from nothing (`dioptre.pipeline.training`). On two cores a
stage takes a quarter to three quarters of an hour.

This module does not know torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dioptre.errors import InputError
from dioptre.pipeline.settings import Simulation
from dioptre.problem import Problem
from dioptre.train.recipe import Recipe, RunSettings

SKIMAGE: Final = "skimage"


@dataclass(frozen=True)
class Stage:
    """One training on the way to a network.

    Attributes:
        name: Of its run; the last stage of a network has the network's.
        recipe: What to train.
        stores: The stores that it learns from, by name; the first one has the validation patches.
        start_from: The stage whose weights it begins with, if any.
        after: The stages that choose the looks before its own, the first one first.
        teacher: The stage whose posterior it learns too, if any.
        settings: How it is validated.
    """

    name: str
    recipe: Recipe
    stores: tuple[str, ...]
    start_from: str = ""
    after: tuple[str, ...] = ()
    teacher: str = ""
    settings: RunSettings = field(default_factory=RunSettings)

    @property
    def builds_on(self) -> tuple[str, ...]:
        """All stages that must be finished before it."""
        return tuple(name for name in (self.start_from, *self.after, self.teacher) if name)


@dataclass(frozen=True)
class ShippedNetwork:
    """One row: how a network is made.

    Attributes:
        stages: In order; they may build on stages of other networks. The last one is the network.
        half: Whether its file stores weights in half precision.
        differs: In what the shipped file came about otherwise than this row says.
    """

    stages: tuple[Stage, ...]
    half: bool = True
    differs: str = ""

    @property
    def name(self) -> str:
        """The network's name."""
        return self.stages[-1].name


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Stores by name, and the networks that are made from them.

    Attributes:
        stores: What is simulated for each, by name.
        networks: The rows.
    """

    stores: Mapping[str, Simulation]
    networks: tuple[ShippedNetwork, ...]

    def __post_init__(self) -> None:
        stages = [stage for network in self.networks for stage in network.stages]
        names = [stage.name for stage in stages]
        if len(set(names)) < len(names):
            raise InputError("two stages of a catalogue have the same name")
        for stage in stages:
            stage.recipe.check()
            unknown = (set(stage.builds_on) - set(names)) | (set(stage.stores) - self.stores.keys())
            if unknown or not stage.stores:
                raise InputError(f"the stage {stage.name} needs {', '.join(sorted(unknown)) or 'a store'}")

    def find(self, name: str) -> ShippedNetwork:
        """Returns the row of a network."""
        for network in self.networks:
            if network.name == name:
                return network
        known = ", ".join(network.name for network in self.networks)
        raise InputError(f"there is no recipe {name!r}; there are {known}")

    def stages_of(self, name: str) -> tuple[Stage, ...]:
        """Returns all stages that a network needs, each after those that it builds on."""
        by_name = {stage.name: stage for network in self.networks for stage in network.stages}
        ordered: dict[str, Stage] = {}

        def visit(stage: Stage) -> None:
            for earlier in stage.builds_on:
                if earlier not in ordered:
                    visit(by_name[earlier])
            ordered[stage.name] = stage

        visit(self.find(name).stages[-1])
        return tuple(ordered.values())


# The recipes, by what they have in common


STORES = {
    "patches": Simulation(10_000, 100, textures=SKIMAGE),
    "more": Simulation(14_000, 101, split="train", textures=SKIMAGE),
    "dark": Simulation(6_000, 104, split="train", light="dark", textures=SKIMAGE),
    "plain": Simulation(7_000, 105, split="train"),
}
SOME, MORE = ("patches",), ("patches", "more", "dark")
ALL = (*MORE, "plain")

COMMON = Recipe(beta1=0.9, schedule="cosine", ema=0.998)
FEW = replace(COMMON, width=0.5, batch=64)  # looks
MOVE = replace(FEW, network="move", target="optics", coefficient=0.3)
MOVE_GREEN = replace(MOVE, problem=Problem.SINGLE_GREEN, learning_rate=2e-3)
LOOKS = replace(FEW, network="looks", target="optics", coefficient=0.3, steps=6000, frozen=True, ema=0.995)
PAPER = replace(FEW, auxiliary=1.0)
PAPER_GREEN = replace(PAPER, problem=Problem.SINGLE_GREEN, flips="all")
STACKS = replace(COMMON, width=1.0, batch=32, target="optics", shared_stem=True)

STACK_SETTINGS = RunSettings(validate_patches=512)
LOOKS_SETTINGS = RunSettings(validate_every=1000)

OLDER_STORES = "its stores are of an earlier simulator, with kinder scenes and no subjects beyond the ladder"
RELATIVE = f"{OLDER_STORES}; it learned from a softmax over the ladder and nothing of what lies beyond"
OLDER_START = f"{RELATIVE}; it began, four stages ago, with an earlier dioptre-single-dp"


SHIPPED = Catalogue(
    STORES,
    (
        ShippedNetwork(
            (
                Stage(
                    "dioptre-single-dp",
                    replace(MOVE, learning_rate=3e-3, steps=10_500, crops=0.6, flips="rows"),
                    ALL,
                ),
            ),
            differs=RELATIVE,
        ),
        ShippedNetwork(
            (
                Stage(
                    "begun-green",
                    replace(MOVE_GREEN, learning_rate=3e-3, steps=5000, crops=0.5, flips="both"),
                    MORE,
                    start_from="dioptre-single-dp",
                ),
                Stage(
                    "half-green",
                    replace(MOVE_GREEN, steps=3500, flips="both"),
                    MORE,
                    start_from="begun-green",
                ),
                Stage(
                    "turned-green",
                    replace(MOVE_GREEN, steps=4000, crops=0.25, flips="all"),
                    MORE,
                    start_from="half-green",
                ),
                Stage(
                    "dioptre-single-green",
                    replace(MOVE_GREEN, steps=2500, crops=0.4, flips="all"),
                    ALL,
                    start_from="turned-green",
                ),
            ),
            differs=OLDER_START,
        ),
        ShippedNetwork(
            (Stage("dioptre-any-dp", LOOKS, SOME, start_from="dioptre-single-dp", settings=LOOKS_SETTINGS),),
            differs=RELATIVE,
        ),
        ShippedNetwork(
            (
                Stage(
                    "dioptre-any-green",
                    replace(LOOKS, problem=Problem.SINGLE_GREEN),
                    SOME,
                    start_from="dioptre-single-green",
                    settings=LOOKS_SETTINGS,
                ),
            ),
            differs=OLDER_START,
        ),
        ShippedNetwork(
            (
                Stage(
                    "l2a-single-dp",
                    replace(
                        PAPER, learning_rate=3e-3, steps=6000, crops=0.55, flips="rows", shared_stem=True
                    ),
                    MORE,
                ),
            ),
            differs=OLDER_STORES,
        ),
        ShippedNetwork(
            (
                Stage(
                    "begun-l2a-green",
                    replace(PAPER_GREEN, learning_rate=3e-3, steps=4000, crops=0.5, shared_stem=True),
                    MORE,
                    start_from="l2a-single-dp",
                ),
                Stage(
                    "half-l2a-green",
                    replace(PAPER_GREEN, learning_rate=1.5e-3, steps=2500, crops=0.2),
                    MORE,
                    start_from="begun-l2a-green",
                ),
                Stage(
                    "plain-l2a-green",
                    replace(PAPER_GREEN, learning_rate=1.5e-3, steps=2000, crops=0.3),
                    ALL,
                    start_from="half-l2a-green",
                ),
                Stage(
                    "l2a-single-green",
                    replace(PAPER_GREEN, learning_rate=2e-3, steps=4000, crops=0.5, distillation=0.8),
                    ALL,
                    start_from="plain-l2a-green",
                    teacher="dioptre-single-green",
                ),
            ),
            differs=OLDER_STORES,
        ),
        ShippedNetwork(
            (
                Stage(
                    "begun-two-step",
                    replace(PAPER, learning_rate=1.5e-3, steps=1600, crops=0.65, flips="rows"),
                    SOME,
                    start_from="l2a-single-dp",
                    after=("l2a-single-dp",),
                ),
                Stage(
                    "l2a-two-step-dp",
                    replace(PAPER, learning_rate=1.5e-3, steps=2400, crops=0.4, flips="rows"),
                    SOME,
                    start_from="begun-two-step",
                    after=("l2a-single-dp",),
                ),
            ),
            differs=OLDER_STORES,
        ),
        ShippedNetwork(
            (
                Stage(
                    "begun-two-step-green",
                    replace(PAPER_GREEN, learning_rate=1.5e-3, steps=3600, crops=0.7),
                    SOME,
                    start_from="begun-l2a-green",
                    after=("begun-l2a-green",),
                ),
                Stage(
                    "l2a-two-step-green",
                    replace(PAPER_GREEN, learning_rate=1e-3, steps=600, ema=0.99),
                    SOME,
                    start_from="begun-two-step-green",
                    after=("l2a-single-green",),
                    settings=RunSettings(validate_every=300),
                ),
            ),
            differs=f"{OLDER_STORES}; the first looks that it learned from were chosen under a far prior",
        ),
        ShippedNetwork(
            (
                Stage(
                    "l2a-stack-green",
                    replace(
                        STACKS,
                        problem=Problem.STACK_GREEN,
                        learning_rate=2e-3,
                        steps=4500,
                        crops=0.75,
                        flips="all",
                    ),
                    SOME,
                    settings=STACK_SETTINGS,
                ),
            ),
            differs=OLDER_STORES,
        ),
        ShippedNetwork(
            (
                Stage(
                    "begun-stack-dp",
                    replace(
                        STACKS,
                        problem=Problem.STACK_DUAL_PIXEL,
                        learning_rate=1.5e-3,
                        steps=1500,
                        crops=0.75,
                        flips="rows",
                    ),
                    SOME,
                    start_from="l2a-stack-green",
                    settings=STACK_SETTINGS,
                ),
                Stage(
                    "l2a-stack-dp",
                    replace(
                        STACKS,
                        problem=Problem.STACK_DUAL_PIXEL,
                        learning_rate=6e-4,
                        steps=280,
                        ema=0.99,
                        flips="rows",
                        shared_stem=False,
                    ),
                    SOME,
                    start_from="begun-stack-dp",
                    settings=STACK_SETTINGS,
                ),
            ),
            differs=OLDER_STORES,
        ),
    ),
)
