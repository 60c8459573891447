"""The training loop: from patch stores to a run's folder (`dioptre.train.folder`).

A run that was stopped goes on from its checkpoint to the same result: batches and dropout are drawn from
(seed, step). Several processes, started by torchrun, share each batch and keep equal weights.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import nn

from dioptre.errors import InputError
from dioptre.methods.base import best_index
from dioptre.posterior import Posterior
from dioptre.store.lock import locked
from dioptre.store.patches import open_patches
from dioptre.train.cache import Done, FeatureCache, cache_features, unwatched
from dioptre.train.dataloader import DataLoader, JoinedStores, Looks, LookSource, RandomOrTrails, from_trails
from dioptre.train.distributed import Rank
from dioptre.train.folder import (
    BEST,
    CHECKPOINT,
    FEATURES,
    TRAILS,
    ValidationResult,
    begin_run,
    finish_run,
    load_state,
    open_run,
    plan_of,
    restoring,
    save_state,
)
from dioptre.train.inference import LazyInference
from dioptre.train.init_weights import start_network
from dioptre.train.loss import divergence
from dioptre.train.networks import NETWORKS
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings
from dioptre.train.rollout import ask_network, roll_out
from dioptre.train.targets import Supervision, load_teacher, targets
from dioptre.train.trainer import Trainer

SEARCH_STEPS = 2  # after the first look, in the searches that a network of looks learns from
FROM_NOTHING = BuildsOn()
VALIDATION_SEED = 77
VALIDATION_BATCH = 64


@dataclass(frozen=True)
class Progress:
    """Where a training is, for whoever watches."""

    step: int
    steps: int
    loss: float
    validation: ValidationResult | None


Watch = Callable[[Progress], None]


def train(
    data: Sequence[Path],
    out: Path,
    recipe: Recipe,
    settings: RunSettings,
    builds_on: BuildsOn = FROM_NOTHING,
    watch: Watch | None = None,
    done: Done = unwatched,
) -> ValidationResult:
    """Trains a network into a folder and returns its best validation.

    Args:
        data: Patch stores with the splits train and validation.
        out: The run's folder.
        recipe: What to train.
        settings: How to run it.
        builds_on: Finished runs that it builds on.
        watch: Told now and then where the training is.
        done: Told how far an earlier network, whose looks or features are learned from, is with the patches.
    """
    recipe.check()
    builds_on.check(recipe)
    rank = Rank.find()
    source = JoinedStores(tuple(open_patches(path) for path in data))
    _check_views(source, recipe)
    plan = plan_of(recipe, source, builds_on)
    network = start_network(recipe, source.positions, builds_on.start_from)
    teacher = load_teacher(builds_on.teacher, recipe, torch.device(settings.device))
    with locked(out) if rank.first else nullcontext():
        if rank.first:
            begin_run(out, plan)
        with rank:
            learner = Trainer(network, recipe, settings, rank)
            feeds = Feeds.of(source, network, recipe, builds_on.after, out, rank, done)
            supervision = Supervision(recipe, source.positions, teacher)
            best = Training(learner, feeds, supervision, out, watch).run()
        if rank.first:
            finish_run(out, plan, best)
    return best


def _check_views(source: JoinedStores, recipe: Recipe) -> None:
    if source.stores[0].format.views < recipe.views:
        raise InputError(
            f"{recipe.problem.value} needs two views, but {source.stores[0].path} has one: "
            f"train {'I*' if recipe.problem.whole else 'I1'} on it"
        )


# What is fed


@dataclass(frozen=True, eq=False)
class Feeds:
    """The batches of a training and of its validations.

    Attributes:
        training: Batches to learn from.
        validation: The same ones in every validation.
        own_trails: Of a network that learns from its own searches, where they go; None for any other.
    """

    training: DataLoader
    validation: DataLoader
    own_trails: RandomOrTrails | None = None

    @classmethod
    def of(
        cls,
        stores: JoinedStores,
        network: nn.Module,
        recipe: Recipe,
        after: Sequence[Path],
        out: Path,
        rank: Rank,
        done: Done = unwatched,
    ) -> "Feeds":
        """Returns the feeds of a training, after looks and features that they need are made.

        Args:
            stores: Where the patches are.
            network: As its training begins.
            recipe: What to train.
            after: The steps before this one.
            out: The run's folder.
            rank: Which of the run's processes this is.
            done: Told how far earlier networks are with the patches.
        """
        rows, others = _rows(stores, "train"), _rows(stores, "validation")
        looks = _looks(stores, recipe, after, out, rank, done)
        source: LookSource = stores
        own_trails = None
        if recipe.frozen:  # only from cached features can searches be rolled out again and again
            encoder, both = NETWORKS[recipe.network].cached(network), np.concatenate([rows, others])
            cached = rank.make_once(
                out / FEATURES,
                lambda: cache_features(stores, encoder, both, recipe.views, done, recipe.untold),
            )
            source, own_trails = FeatureCache(cached, stores.where), RandomOrTrails(looks)
        training = DataLoader(
            source,
            rows,
            targets(stores, recipe),
            recipe.views,
            own_trails or looks,
            recipe.batch,
            recipe.seed,
            recipe.flips,
            round(recipe.crops * recipe.steps),
            recipe.untold,
            (rank.number, rank.world),
        )
        validation = replace(
            training,
            rows=others,
            looks=looks,
            size=VALIDATION_BATCH,
            seed=VALIDATION_SEED,
            flips="none",
            crops=0,
            untold=0.0,
            part=(0, 1),
        )
        return cls(training, validation, own_trails)


def _looks(
    stores: JoinedStores, recipe: Recipe, after: Sequence[Path], out: Path, rank: Rank, done: Done
) -> Looks:
    """Returns the sampler of looks: the network kind's, or one that follows the steps before it."""
    kind = NETWORKS[recipe.network]
    if kind.looks(recipe, len(after)) < 2:  # one, WHOLE or ANY
        return kind.draw_looks(recipe, stores.positions)

    def make() -> Int[np.ndarray, "all start look"]:
        askers = []
        for path in after:
            run = open_run(path)
            infer = LazyInference(run.network())
            askers.append(ask_network(infer, infer.device, stores.positions, run.kind.decision))
        return roll_out(stores, askers, recipe.views, done=done)

    return from_trails(rank.make_once(out / TRAILS, make))


def _rows(stores: JoinedStores, name: str) -> Int[np.ndarray, " n"]:
    """Returns the patches of a split; to validate on, those with something to focus on."""
    wanted = stores.column("split") == name
    if name == "validation" and stores.has_column("focusable"):
        wanted &= stores.column("focusable").astype(bool)
    rows = np.flatnonzero(wanted)
    if rows.size == 0:
        raise InputError(
            f"the data has no patches of the split {name}: training needs scenes to train on and others "
            "to validate on"
        )
    return rows


# The loop


@dataclass(frozen=True, eq=False)
class Training:
    """One training in one process.

    Attributes:
        learner: What learns.
        feeds: What it is fed.
        supervision: What it learns.
        out: The run's folder.
        watch: Told now and then where the training is.
    """

    learner: Trainer
    feeds: Feeds
    supervision: Supervision
    out: Path
    watch: Watch | None = None

    def run(self) -> ValidationResult:
        """Trains to the end and returns the best validation."""
        recipe, settings = self.learner.recipe, self.learner.settings
        step, best, worse = self._resume()
        log = self._log()
        while step < recipe.steps and not (settings.patience and worse >= settings.patience):
            self._search(step)
            until = min((step // settings.validate_every + 1) * settings.validate_every, recipe.steps)
            value = self._learn(step, until, log)
            step, last = until, self.validate(until)
            if best is None or last.loss < best.loss:
                best, worse = last, 0
                self._keep(BEST, self.learner.result.state_dict())
            else:
                worse += 1
            state = {"step": step, "best": asdict(best), "worse": worse, **self.learner.state()}
            self._keep(CHECKPOINT, state)
            log("validation/loss", last.loss, step)
            log("validation/mae", last.mae, step)
            self._tell(step, value, last)
        assert best is not None, "a training has at least one validation"
        return best

    def _learn(self, first: int, until: int, log: Callable[[str, float, int], None]) -> float:
        """Learns batches first .. until - 1 and returns the loss of the last one."""
        value = 0.0
        for step, batch in enumerate(self.feeds.training.stream(first, until), first + 1):
            moved = batch.to(self.learner.device)
            value = self.learner.step(moved, self.supervision.labels(moved), step - 1)
            if step % 20 == 0 or step == until:
                log("train/loss", value, step)
            if step < until:
                self._tell(step, value, None)
        return value

    def _search(self, step: int) -> None:
        """Rolls out searches from every start, for a network that learns from its own."""
        trails = self.feeds.own_trails
        if not step or trails is None:
            return
        feed, kind = self.feeds.training, self.learner.kind
        ask = ask_network(self.learner.answerer(), self.learner.device, feed.source.positions, kind.decision)
        trails.trails = roll_out(feed.source, [ask] * SEARCH_STEPS, feed.views, kind.looks_apart)

    @torch.no_grad()
    def validate(self, step: int) -> ValidationResult:
        """Returns the loss and errors of the network to keep on validation patches."""
        network, kind = self.learner.answerer(), self.learner.kind
        losses, errors = [], []
        batches = -(-self.learner.settings.validate_patches // VALIDATION_BATCH)
        for batch in self.feeds.validation.stream(0, batches):
            moved = batch.to(self.learner.device)
            logits = network(*moved.inputs).float()
            losses.append(divergence(logits, self.supervision.labels(moved)).cpu())
            posterior = Posterior.of_logits(logits.cpu().numpy(), self.supervision.positions, kind.decision)
            errors.append(np.abs(best_index(posterior.scores()) - batch.target.numpy()))
        return ValidationResult(step, float(torch.cat(losses).mean()), float(np.concatenate(errors).mean()))

    def _resume(self) -> tuple[int, ValidationResult | None, int]:
        """Returns the step to go on with, the best validation so far, and how many were worse since."""
        state = load_state(self.out / CHECKPOINT, self.learner.device)
        if state is None:
            return 0, None, 0
        with restoring(self.out / CHECKPOINT):
            self.learner.restore(state)
            return int(state["step"]), ValidationResult(**state["best"]), int(state["worse"])

    def _keep(self, name: str, state: dict[str, object]) -> None:
        if self.learner.rank.first:
            save_state(self.out / name, state)

    def _tell(self, step: int, value: float, validation: ValidationResult | None) -> None:
        if self.watch is not None:
            self.watch(Progress(step, self.learner.recipe.steps, value, validation))

    def _log(self) -> Callable[[str, float, int], None]:
        if not self.learner.rank.first:
            return lambda *_: None
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  # half a second

        writer = SummaryWriter(str(self.out))
        return writer.add_scalar
