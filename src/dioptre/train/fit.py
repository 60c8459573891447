"""The training loop: from patch stores to a run's folder.

    writing.json    the recipe, the data's hashes: what is being trained; becomes manifest.json
    checkpoint.pt   where the training is; written now and then, replaced as a whole
    best.pt         the weights with the lowest validation loss so far
    trails.npy      for later steps: where the networks before this one looked
    said.npy        for looks that are put together: what each said alone
    events.*        TensorBoard's
    manifest.json   written last: its presence means that the training is finished

A run that was stopped goes on from its checkpoint to the same result: batches and dropout are drawn from
(seed, step). Several processes, started by torchrun, share each batch and keep equal weights.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dioptre import __version__
from dioptre.dataset.manifest import begin_folder, read_manifest, write_file, write_manifest
from dioptre.dataset.store import open_patches
from dioptre.errors import InputError
from dioptre.methods.base import Problem
from dioptre.train import encode, feed, loss
from dioptre.train.feed import Batch, Feed, Looks, Memory, Searches, Source
from dioptre.train.finished import Done, Teacher, follow, remember, unwatched
from dioptre.train.network import (
    NETWORKS,
    Listener,
    LooksNet,
    OneHotNet,
    Pupil,
    answers,
    carry_contrast,
    seeing_both_as_green,
    seeing_green_twice,
    share_stem,
    shared_batch_norms,
)
from dioptre.train.recipe import Earlier, Practice, Recipe, learning_rate

CHECKPOINT, BEST, TRAILS, SAID = "checkpoint.pt", "best.pt", "trails.npy", "said.npy"
KIND, WHAT = "training", "a training's folder"

# How many looks a network for any number of them practises with, and how often.
LOOK_COUNTS = (
    (1, 0.25),
    (2, 0.2),
    (3, 0.15),
    (5, 0.1),
    (8, 0.1),
    (16, 0.05),
    (49, 0.15),
)
SEARCH_STEPS = 2  # after the first look, in the searches that it practises
ALONE = Earlier()
VALIDATION_SEED = 77
VALIDATION_BATCH = 64


@dataclass(frozen=True)
class Validation:
    """What a validation found, against what is learned: loss above its floor, mean error in indices."""

    step: int
    loss: float
    mae: float


@dataclass(frozen=True)
class Moment:
    """Where a training is, for whoever watches."""

    step: int
    steps: int
    loss: float
    validation: Validation | None


Watch = Callable[[Moment], None]


def train(
    data: Sequence[Path],
    out: Path,
    recipe: Recipe,
    practice: Practice,
    earlier: Earlier = ALONE,
    watch: Watch | None = None,
    done: Done = unwatched,
) -> Validation:
    """Trains a network into a folder and returns its last validation.

    Args:
        data: Patch stores with the splits train and validation.
        out: The run's folder.
        recipe: What to train.
        practice: How to run it.
        earlier: Finished runs that it builds on.
        watch: Told now and then where the training is.
        done: Told how far an earlier network, whose looks or features are learned from, is with the patches.
    """
    earlier.check(recipe)
    place = Place.find()
    source = Source(tuple(open_patches(path) for path in data))
    entries = _entries(recipe, source, earlier)
    network = _prepare(recipe, source, earlier.start_from)
    teacher = None if earlier.teacher is None else _engage(earlier.teacher, recipe)
    if place.first:
        begin_folder(out, entries, WHAT)
    with place:
        looks = _looks(recipe, source, out, earlier.after, place, done)
        trainer = _Trainer(network, teacher, recipe, practice, source, looks, out, place, watch, done)
        last = trainer.run()
    if place.first:
        _finish(out, entries, last)
    return last


@dataclass(frozen=True)
class Place:
    """Which of the run's processes this is."""

    rank: int
    world: int

    @classmethod
    def find(cls) -> "Place":
        """Returns the place that torchrun has given this process, or that of the only one."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def __enter__(self) -> "Place":
        if self.world > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return self

    def __exit__(self, *_: object) -> None:
        if distributed.is_initialized():
            distributed.destroy_process_group()


# The folder


def _entries(recipe: Recipe, source: Source, earlier: Earlier) -> dict[str, Any]:
    """Returns what must be the same when a run is resumed."""
    form = source.stores[0].format

    def recipe_at(run: Path | None) -> dict[str, Any] | None:
        return None if run is None else read_run(run)["recipe"]

    return {
        "kind": KIND,
        "dioptre": __version__,
        "recipe": asdict(recipe) | {"problem": str(recipe.problem)},
        "data": [store.manifest["sha256"] for store in source.stores],
        "format": form.to_json(),
        "start_from": recipe_at(earlier.start_from),
        "after": [recipe_at(one) for one in earlier.after],
        "teacher": recipe_at(earlier.teacher),
    }


def _finish(out: Path, entries: dict[str, Any], best: Validation) -> None:
    write_manifest(out, {**entries, "validation": asdict(best)})
    (out / CHECKPOINT).unlink()


def read_run(path: Path) -> dict[str, Any]:
    """Returns what a finished run's manifest says."""
    entries = read_manifest(path, WHAT)
    if entries.get("kind") != KIND:
        raise InputError(f"{path} holds {entries.get('kind', 'something else')}, not a {KIND}")
    return entries


def recipe_of(entries: Mapping[str, Any]) -> Recipe:
    """Returns the recipe in a manifest."""
    return Recipe(**{**entries["recipe"], "problem": Problem(entries["recipe"]["problem"])})


def load_network(path: Path, *, as_trained: bool = False) -> nn.Module:
    """Returns the network of a finished run with its best weights, for inference.

    Args:
        path: The run's folder.
        as_trained: Whether it believes what it learned from its stores, whatever it is to expect in use.
    """
    entries = read_run(path)
    recipe, positions = recipe_of(entries), len(entries["format"]["dioptres"])
    network = build(recipe, positions)
    network.load_state_dict(torch.load(path / BEST, weights_only=True))
    if recipe.expects == "far" and not as_trained:
        rarer = encode.rarer_near(positions)
        network.register_forward_hook(lambda _network, _given, scores: scores + rarer.to(scores.device))
    return network.eval()


# What is trained


def build(recipe: Recipe, positions: int) -> nn.Module:
    """Returns an untrained network."""
    return NETWORKS[recipe.network](positions, recipe.views, recipe.width)


def _prepare(recipe: Recipe, source: Source, start_from: Path | None) -> nn.Module:
    if source.stores[0].format.views < recipe.views:
        raise InputError(
            f"{recipe.problem.value} needs two views, but {source.stores[0].path} has one: "
            f"train {'I*' if recipe.problem.whole else 'I1'} on it"
        )
    torch.manual_seed(recipe.seed)
    network = build(recipe, source.positions)
    if recipe.shared_stem:
        (carry_contrast if recipe.problem.whole else share_stem)(network)
    if start_from is not None:
        start = recipe_of(read_run(start_from))
        weights = load_network(start_from).state_dict()
        if start.views > recipe.views:
            weights = seeing_green_twice(weights, network.state_dict())
        elif start.views < recipe.views:
            weights = seeing_both_as_green(weights, network.state_dict())
        alone = network.alone if isinstance(network, LooksNet) and start.network == "move" else network
        if not _take_weights(alone, weights):
            raise InputError(f"{start_from} has no weights of the names and shapes of this network's")
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _take_weights(network: nn.Module, weights: dict[str, Tensor]) -> int:
    """Copies weights whose name and shape agree; returns how many."""
    own = network.state_dict()
    fitting = {name: one for name, one in weights.items() if name in own and own[name].shape == one.shape}
    network.load_state_dict(fitting, strict=False)
    return len(fitting)


def _engage(teacher: Path, recipe: Recipe) -> nn.Module:
    """Returns the network of a finished run that sees the same looks as another is to see."""
    other = recipe_of(read_run(teacher)).problem
    if other != recipe.problem:
        raise InputError(f"{teacher} was trained for {other.value} and cannot teach {recipe.problem.value}")
    return load_network(teacher, as_trained=True)


def targets(source: Source, recipe: Recipe) -> Float[np.ndarray, " all"]:
    """Returns the true position of every patch: its label, or where the simulated lens was sharp.

    The mean error of the lens is left in: a network can know that.
    """
    if recipe.target == "label":
        return source.column("truth").astype(np.float64)
    if not (source.has_column("lens_error") and source.has_column("depth")):
        raise InputError("only a simulated store knows where its lens was sharp: train with --target label")
    exact = source.stores[0].format.grid.dioptres_to_index(source.column("depth"))
    error = source.column("lens_error")
    return exact - (error - error.mean())


def _looks(
    recipe: Recipe, source: Source, out: Path, after: Sequence[Path], place: Place, done: Done
) -> Looks:
    positions = source.positions
    if recipe.network == "looks":
        most = recipe.batch * positions if recipe.frozen else recipe.batch
        counts = [(min(count, positions), share) for count, share in LOOK_COUNTS]
        return Searches(feed.some_slices(positions, counts, most))
    if recipe.problem.whole:
        return feed.whole_stack(positions)
    if not after:
        return feed.random_start(positions)

    def walk() -> Int[np.ndarray, "all start step"]:
        return follow(source, [load_network(one) for one in after], recipe.views, done)

    return feed.trail(_kept(out / TRAILS, walk, place))


def _kept(path: Path, make: Callable[[], Shaped[np.ndarray, "..."]], place: Place) -> Any:
    """Returns an array that one process makes, once for a run."""
    if place.first and not path.exists():
        made = make()
        write_file(path, lambda file: np.save(file, made))
    if place.world > 1:
        distributed.barrier()
    return np.load(path)


# The loop


class _Trainer:
    """One training in one process."""

    def __init__(
        self,
        network: nn.Module,
        teacher: nn.Module | None,
        recipe: Recipe,
        practice: Practice,
        source: Source,
        looks: Looks,
        out: Path,
        place: Place,
        watch: Watch | None,
        done: Done,
    ) -> None:
        self.recipe, self.practice, self.out, self.place, self.watch = recipe, practice, out, place, watch
        self.device = torch.device(practice.device)
        if place.world > 1:
            shared_batch_norms(network)
        self.network = network.to(self.device)
        self.teacher = None if teacher is None else Teacher(teacher.to(self.device))
        self.learner = network
        if recipe.moves:
            assert isinstance(network, OneHotNet)
            self.learner = Pupil(network).to(self.device)
        elif recipe.frozen:
            self.learner = self._asked(network)
        self.positions = source.positions
        self.average = (
            AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(recipe.average), use_buffers=True)
            if recipe.average
            else None
        )
        self.optimiser = torch.optim.AdamW(
            self.learner.parameters(),
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            weight_decay=recipe.decay,
        )
        target, split = targets(source, recipe), source.column("split")
        rows = {name: _rows(split, name) for name in ("train", "validation")}
        self.given: Source | Memory = source
        if recipe.frozen:
            assert isinstance(network, LooksNet)
            both = np.concatenate(list(rows.values()))
            kept = _kept(out / SAID, lambda: remember(source, network, both, recipe.views, done), place)
            self.given = Memory(kept, source.where)
        self.feed = Feed(
            self.given,
            rows["train"],
            target,
            recipe.views,
            looks,
            recipe.batch,
            recipe.seed,
            recipe.flips,
            round(recipe.quarters * recipe.steps),
            (place.rank, place.world),
        )
        self.check = replace(
            self.feed,
            rows=rows["validation"],
            looks=looks.random if isinstance(looks, Searches) else looks,
            size=VALIDATION_BATCH,
            seed=VALIDATION_SEED,
            flips="none",
            quarters=0,
            part=(0, 1),
        )
        if recipe.batch % place.world:
            raise InputError(f"a batch of {recipe.batch} cannot be shared by {place.world} processes")

    def run(self) -> Validation:
        """Trains to the end and returns the last validation."""
        step, best, worse = self._resume()
        model = self._wrap()
        log = self._log()
        every = self.practice.validate_every
        while step < self.recipe.steps and not (self.practice.patience and worse >= self.practice.patience):
            self._search(step)
            until = min((step // every + 1) * every, self.recipe.steps)
            for batch in self.feed.stream(step, until):
                value = self._step(model, batch.to(self.device), step)
                step += 1
                if step % 20 == 0 or step == until:
                    log("train/loss", value, step)
                if self.watch is not None and step < until:
                    self.watch(Moment(step, self.recipe.steps, value, None))
            last = self.validate(step)
            if best is None or last.loss < best.loss:
                best, worse = last, 0
                self._keep(BEST, self.result().state_dict())
            else:
                worse += 1
            self._keep(CHECKPOINT, self._state(step, best, worse))
            log("validation/loss", last.loss, step)
            log("validation/mae", last.mae, step)
            if self.watch is not None:
                self.watch(Moment(step, self.recipe.steps, value, last))
        assert best is not None, "a training has at least one validation"
        return best

    def _search(self, step: int) -> None:
        """Lets a network that can see any number of looks search from every start, to learn from that next.

        Only what looks said alone can be searched so quickly.
        """
        if step and isinstance(self.given, Memory) and isinstance(self.feed.looks, Searches):
            asked = self._asked(self.result()).eval()
            self.feed.looks.trails = follow(self.given, [asked] * SEARCH_STEPS, self.recipe.views)

    def _asked(self, network: nn.Module) -> nn.Module:
        """Returns a network in the form that answers to what the feed gives."""
        if not self.recipe.frozen:
            return network
        assert isinstance(network, LooksNet)
        return Listener(network)

    def result(self) -> nn.Module:
        """Returns the network to keep: the running average, if there is one."""
        return self.network if self.average is None else self.average.module

    def _step(self, model: nn.Module, batch: Batch, step: int) -> float:
        rate = learning_rate(self.recipe, step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        torch.manual_seed(self.recipe.seed * 1_000_003 + step * self.place.world + self.place.rank)
        model.train()
        with self._precision():
            scores = model(batch.pixels, batch.indices, batch.where).float()
        labels = self._labels(batch)
        if self.recipe.moves:
            value = loss.divergence(scores[:, 0], labels).mean()
            wanted = value + self.recipe.moves * loss.divergence(scores[:, 1], labels).mean()
        else:
            wanted = value = loss.divergence(scores, labels).mean()
        self.optimiser.zero_grad(set_to_none=True)
        wanted.backward()
        self.optimiser.step()
        if self.average is not None:
            self.average.update_parameters(self.network)
        return float(value.detach())

    @torch.no_grad()
    def validate(self, step: int) -> Validation:
        """Returns how well the network to keep does on validation patches."""
        network = self._asked(self.result()).eval()
        losses, errors = [], []
        batches = -(-self.practice.validate_patches // VALIDATION_BATCH)
        for batch in self.check.stream(0, batches):
            moved = batch.to(self.device)
            scores = network(moved.pixels, moved.indices, moved.where).float()
            losses.append(loss.divergence(scores, self._labels(moved)))
            errors.append((answers(network, scores) - moved.target).abs())
        return Validation(step, float(torch.cat(losses).mean()), float(torch.cat(errors).mean()))

    def _labels(self, batch: Batch) -> Float[Tensor, "batch n"]:
        """Returns what is to be believed of each patch."""
        distance, coefficient = self.recipe.distance, self.recipe.coefficient
        labels = loss.soft_labels(batch.target, self.positions, distance, coefficient)
        if self.teacher is None:
            return labels
        return labels.lerp(self.teacher.belief(batch), self.recipe.taught)

    def _precision(self) -> AbstractContextManager[object]:
        if self.practice.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _wrap(self) -> nn.Module:
        return self.learner if self.place.world == 1 else DistributedDataParallel(self.learner)

    def _resume(self) -> tuple[int, Validation | None, int]:
        """Returns the step to go on with, the best validation so far, and how many were worse since."""
        if not (self.out / CHECKPOINT).exists():
            return 0, None, 0
        state = torch.load(self.out / CHECKPOINT, weights_only=True, map_location=self.device)
        self.learner.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        return state["step"], Validation(**state["best"]), state["worse"]

    def _state(self, step: int, best: Validation, worse: int) -> dict[str, Any]:
        return {
            "step": step,
            "best": asdict(best),
            "worse": worse,
            "network": self.learner.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
        }

    def _keep(self, name: str, state: dict[str, Any]) -> None:
        if self.place.first:
            write_file(self.out / name, lambda file: torch.save(state, file))

    def _log(self) -> Callable[[str, float, int], None]:
        if not self.place.first:
            return lambda *_: None
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  # half a second

        writer = SummaryWriter(str(self.out))
        return writer.add_scalar


def _rows(split: Any, name: str) -> Int[np.ndarray, " n"]:
    rows = np.flatnonzero(split == name)
    if rows.size == 0:
        raise InputError(
            f"the data has no patches of the split {name}: training needs scenes to train on and others "
            "to validate on"
        )
    return rows
