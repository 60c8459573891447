"""A run's folder: what is in it, how it is resumed, and where its weights came from.

    writing.json    the recipe, the data's hashes, the lineage: what is being trained; becomes manifest.json
    checkpoint.pt   where the training is; written now and then, replaced as a whole
    best.pt         the weights with the lowest validation loss so far
    trails.npy      for later steps: where the networks before this one looked
    features.npy    for looks that are put together: what each says alone
    events.*        TensorBoard's
    manifest.json   written last: its presence means that the training is finished

**Lineage.** A network is known by the hash of its weights, what they were trained on by the hashes of the
stores; `lineage` of a run holds both, its recipe, and the same of every run that it built on, down to the
first:

    {"weights": sha256 of best.pt, "data": [sha256 ...], "recipe": {...},
     "start_from": lineage | null, "after": [lineage ...], "teacher": lineage | null}
"""

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dioptre import __version__
from dioptre.errors import FileError
from dioptre.store.format import StoreFormat
from dioptre.store.manifest import (
    MANIFEST,
    begin_folder,
    described_by,
    hash_file,
    read_manifest,
    write_file,
    write_manifest,
)
from dioptre.store.schema import RUN, VALIDATION
from dioptre.train.dataloader import JoinedStores
from dioptre.train.networks import NETWORKS, NetworkKind
from dioptre.train.recipe import BuildsOn, Recipe

CHECKPOINT, BEST, TRAILS, FEATURES = "checkpoint.pt", "best.pt", "trails.npy", "features.npy"
KIND, WHAT = "training", "a training's folder"
LINEAGE = ("weights", "data", "recipe", "start_from", "after", "teacher")


@dataclass(frozen=True)
class ValidationResult:
    """What a validation found, against what is learned: loss above its least, mean error in indices."""

    step: int
    loss: float
    mae: float


# Finished runs


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A finished training: its folder, its recipe and its best weights.

    Attributes:
        path: Its folder.
        entries: What its manifest says.
    """

    path: Path
    entries: Mapping[str, Any]

    @property
    def recipe(self) -> Recipe:
        """What was trained."""
        return Recipe.from_json(self.entries["recipe"])

    @property
    def kind(self) -> NetworkKind:
        """What differs from one kind of network to another, of this one."""
        return NETWORKS[self.recipe.network]

    @property
    def format(self) -> StoreFormat:
        """Of the stores that it was trained on."""
        return StoreFormat.from_json(self.entries["format"])

    @property
    def positions(self) -> int:
        """Positions of its grid."""
        return len(self.entries["format"]["dioptres"])

    @property
    def looks(self) -> int:
        """How many looks its network is shown: a number, WHOLE or ANY."""
        return self.kind.looks(self.recipe, len(self.entries["after"]))

    @property
    def lineage(self) -> dict[str, Any]:
        """Where its weights came from, down to the first run."""
        return {name: self.entries[name] for name in LINEAGE}

    def weights(self) -> dict[str, Tensor]:
        """Returns its best weights.

        Raises:
            FileError: If the file cannot be read, or holds something else.
        """
        path = self.path / BEST
        found = load_state(path, torch.device("cpu"))
        if found is None:
            raise FileError(f"{path} is missing")
        if not found or not all(isinstance(one, Tensor) for one in found.values()):
            raise FileError(f"{path} does not hold the weights of a network")
        return found

    def network(self) -> nn.Module:
        """Returns its network with its best weights, for inference."""
        recipe = self.recipe
        with restoring(self.path / BEST):
            network = self.kind.build(self.positions, recipe.views, recipe.width)
            network.load_state_dict(self.weights())
        return network.eval()


def open_run(path: Path) -> TrainingRun:
    """Returns a finished run.

    Raises:
        FileError: If the folder holds none, or one that is not finished.
    """
    entries = read_manifest(path, WHAT)
    if entries.get("kind") != KIND:
        raise FileError(f"{path} holds {entries.get('kind', 'something else')}, not a {KIND}")
    if any(name not in entries for name in LINEAGE):
        raise FileError(f"{path} was trained by another version of dioptre: it has no lineage")
    RUN.check(path / MANIFEST, entries)
    VALIDATION.check(path / MANIFEST, entries["validation"])
    run = TrainingRun(path, entries)
    with described_by(path, WHAT):
        _ = run.recipe, run.format, run.kind, run.looks  # raise if they are wrong
    return run


# Runs that are being written


def plan_of(recipe: Recipe, source: JoinedStores, builds_on: BuildsOn) -> dict[str, Any]:
    """Returns the settings that must be the same when a run is resumed."""

    def lineage_of(run: Path | None) -> dict[str, Any] | None:
        return None if run is None else open_run(run).lineage

    return {
        "kind": KIND,
        "dioptre": __version__,
        "recipe": recipe.to_json(),
        "data": [store.manifest["sha256"] for store in source.stores],
        "format": source.stores[0].format.to_json(),
        "start_from": lineage_of(builds_on.start_from),
        "after": [lineage_of(one) for one in builds_on.after],
        "teacher": lineage_of(builds_on.teacher),
    }


def begin_run(out: Path, plan: Mapping[str, Any]) -> None:
    """Records what is being trained, or checks that a run already begun trains the same."""
    begin_folder(out, plan, WHAT)


def finish_run(out: Path, plan: Mapping[str, Any], best: ValidationResult) -> None:
    """Writes the manifest of a finished run."""
    write_manifest(out, {**plan, "weights": hash_file(out / BEST), "validation": asdict(best)})
    (out / CHECKPOINT).unlink(missing_ok=True)


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Writes weights or a checkpoint, replacing the file as a whole.

    Raises:
        OSError: If it cannot be written; torch, which is not told of the file, would raise anything.
    """
    content = io.BytesIO()
    torch.save(dict(state), content)
    write_file(path, lambda file: file.write(content.getbuffer()))


def load_state(path: Path, device: torch.device) -> dict[str, Any] | None:
    """Returns the state that `save_state` wrote, on a device; None if there is none yet.

    Raises:
        FileError: If it is damaged, or something else. No code in it is run.
    """
    if not path.exists():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what is refused
            found = torch.load(path, weights_only=True, map_location=device)
    except Exception as error:  # a damaged file raises nearly anything: EOFError, UnpicklingError, ...
        reason = (str(error) or repr(error)).splitlines()[0]
        raise FileError(f"{path} cannot be read as weights: {reason}") from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise FileError(f"{path} holds no weights by their names")
    return found


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Lets a network be put back to what a file holds; what does not fit is a FileError with the file."""
    try:
        yield
    except FileError:
        raise
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error) or repr(error)).splitlines()
        raise FileError(f"{path} does not fit the network: {' '.join(reason)[:200]}") from None
