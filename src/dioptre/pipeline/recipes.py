"""The shipped networks as rows of data: their stores, their stages, what each stage builds on.

`dioptre train --recipe NAME OUT` makes one of them from nothing (`dioptre.pipeline.training`). On two cores a
stage takes a quarter to three quarters of an hour.

This module does not know torch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from dioptre.errors import InputError
from dioptre.pipeline.settings import Registration, Simulation
from dioptre.posterior import Decision
from dioptre.problem import Problem
from dioptre.train.recipe import Recipe, RunSettings

SKIMAGE: Final = "skimage"


@dataclass(frozen=True)
class TrainingStage:
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
class RegisteredStore:
    """A store whose focal breathing is undone.

    Attributes:
        source: The name of the store that it is made from.
        registration: How.
    """

    source: str
    registration: Registration = field(default_factory=Registration)


@dataclass(frozen=True)
class ShippedNetwork:
    """One row: how a network is made.

    Attributes:
        stages: In order; they may build on stages of other networks. The last one is the network.
        half: Whether its file stores weights in half precision.
        decision: How its posterior is read, if not as that of its kind is.
        shipped: Whether its file comes with the package; another can be made, and asked for by its file.
    """

    stages: tuple[TrainingStage, ...]
    half: bool = True
    decision: Decision | None = None
    shipped: bool = True

    @property
    def name(self) -> str:
        """The network's name."""
        return self.stages[-1].name


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Stores by name, and the networks that are made from them.

    Attributes:
        stores: What is simulated, or registered, for each, by name.
        networks: The rows.
    """

    stores: Mapping[str, Simulation | RegisteredStore]
    networks: tuple[ShippedNetwork, ...]

    def __post_init__(self) -> None:
        stages = [stage for network in self.networks for stage in network.stages]
        names = [stage.name for stage in stages]
        if len(set(names)) < len(names):
            raise InputError("two stages of a catalogue have the same name")
        for name, store in self.stores.items():
            if isinstance(store, RegisteredStore) and not isinstance(
                self.stores.get(store.source), Simulation
            ):
                raise InputError(f"the store {name} is made from {store.source}, which is not simulated")
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

    def stages_of(
        self, name: str, made: Callable[[TrainingStage], bool] = lambda _stage: False
    ) -> tuple[TrainingStage, ...]:
        """Returns all stages that a network needs, each after those that it builds on.

        Args:
            name: Of the network.
            made: Tells whether a stage is made already; what that one built on is then not needed.
        """
        by_name = {stage.name: stage for network in self.networks for stage in network.stages}
        ordered: dict[str, TrainingStage] = {}

        def visit(stage: TrainingStage) -> None:
            for earlier in () if stage.name != name and made(stage) else stage.builds_on:
                if earlier not in ordered:
                    visit(by_name[earlier])
            ordered[stage.name] = stage

        visit(self.find(name).stages[-1])
        return tuple(ordered.values())


# The recipes, by what they have in common


STILL = Registration(size=72)  # which also patches whose motion was searched can fill
STORES: Mapping[str, Simulation | RegisteredStore] = {
    "scenes": Simulation(7_000, 200),
    "phones": Simulation(4_096, 201, split="train", device="random", textures=SKIMAGE),
    "dark": Simulation(1_024, 202, split="train", device="random", light="dark", textures=SKIMAGE),
    "phones-plain": Simulation(4_096, 201, split="train", device="random"),
    "dark-plain": Simulation(1_024, 202, split="train", device="random", light="dark"),
    "processed-plain": Simulation(896, 203, split="train", device="random", processed=True),
    "registered": RegisteredStore("scenes", STILL),
    "registered-phones": RegisteredStore("phones", STILL),
    "registered-dark": RegisteredStore("dark", STILL),
}
REGISTERED = ("registered", "registered-phones", "registered-dark")
SCENES, SCENES_AND_DARK, TWO_VIEWS = ("scenes",), ("scenes", "dark"), ("scenes", "phones", "dark")
PLAIN_GREEN = ("scenes", "phones-plain", "dark-plain", "processed-plain")  # without photographs

COMMON = Recipe(beta1=0.9, schedule="cosine", ema=0.998)
FEW = replace(COMMON, width=0.5, batch=64)  # looks
MOVE = replace(FEW, network="move", target="optics", coefficient=0.3, untold=0.25)
LOOKS = replace(MOVE, network="looks", learning_rate=1e-3, steps=6000, frozen=True, ema=0.995)
PAPER = replace(FEW, auxiliary=1.0)
PAPER_GREEN = replace(PAPER, problem=Problem.SINGLE_GREEN, flips="all")
STACKS = replace(COMMON, width=1.0, batch=32, target="optics", shared_stem=True)
GREEN_STACKS = replace(
    STACKS, problem=Problem.STACK_GREEN, learning_rate=2e-3, steps=4500, crops=0.75, flips="all"
)

STACK_SETTINGS = RunSettings(validate_patches=512)
LOOKS_SETTINGS = RunSettings(validate_every=1000)


SHIPPED = Catalogue(
    STORES,
    (
        ShippedNetwork(
            (
                TrainingStage(
                    "dioptre-single-dp",
                    replace(MOVE, learning_rate=3e-3, steps=14_000, crops=0.65, flips="rows"),
                    TWO_VIEWS,
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "dioptre-single-green",
                    replace(
                        MOVE,
                        problem=Problem.SINGLE_GREEN,
                        learning_rate=2e-3,
                        steps=6000,
                        crops=0.75,
                        flips="all",
                    ),
                    PLAIN_GREEN,
                    start_from="dioptre-single-dp",
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "dioptre-any-dp",
                    LOOKS,
                    SCENES_AND_DARK,
                    start_from="dioptre-single-dp",
                    settings=LOOKS_SETTINGS,
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "dioptre-any-green",
                    replace(LOOKS, problem=Problem.SINGLE_GREEN, steps=8000),
                    PLAIN_GREEN,
                    start_from="dioptre-single-green",
                    settings=LOOKS_SETTINGS,
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-single-dp",
                    replace(
                        PAPER,
                        learning_rate=3e-3,
                        steps=6000,
                        crops=0.65,
                        flips="rows",
                        shared_stem=True,
                        distillation=0.8,
                    ),
                    TWO_VIEWS,
                    teacher="dioptre-single-dp",
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-single-green",
                    replace(PAPER_GREEN, learning_rate=2e-3, steps=7000, crops=0.6, distillation=0.8),
                    PLAIN_GREEN,
                    start_from="l2a-single-dp",
                    teacher="dioptre-single-green",
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-two-step-dp",
                    replace(PAPER, learning_rate=1.5e-3, steps=3500, crops=0.6, flips="rows"),
                    SCENES,
                    start_from="l2a-single-dp",
                    after=("l2a-single-dp",),
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-two-step-green",
                    replace(PAPER_GREEN, learning_rate=1.5e-3, steps=2500, crops=0.6),
                    SCENES,
                    start_from="l2a-single-green",
                    after=("l2a-single-green",),
                ),
            ),
            decision=Decision.MEDIAN,  # both sides are often as likely still, and the likeliest errs by more
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-stack-green",
                    GREEN_STACKS,
                    TWO_VIEWS,
                    settings=STACK_SETTINGS,
                ),
            ),
        ),
        ShippedNetwork(
            (
                TrainingStage(
                    "l2a-stack-dp",
                    replace(
                        STACKS,
                        problem=Problem.STACK_DUAL_PIXEL,
                        learning_rate=1.5e-3,
                        steps=1600,
                        crops=0.75,
                        flips="rows",
                    ),
                    TWO_VIEWS,
                    start_from="l2a-stack-green",
                    settings=STACK_SETTINGS,
                ),
            ),
        ),
        ShippedNetwork(  # the paper's recipe but for its width, in the time that l2a-single-dp takes
            (TrainingStage("paper-single-dp", Recipe(width=0.5, steps=1900), TWO_VIEWS),), shipped=False
        ),
        ShippedNetwork(  # Table 3: the paper's model of whole stacks, on registered ones
            (
                TrainingStage(
                    "l2a-registered-green",
                    GREEN_STACKS,
                    REGISTERED,
                    settings=STACK_SETTINGS,
                ),
            ),
            shipped=False,
        ),
    ),
)
