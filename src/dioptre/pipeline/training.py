"""A shipped network from nothing: its stores simulated, its stages trained, its file exported.

    OUT/stores/<name>        simulated stores, and registered ones
    OUT/runs/<stage>         the runs of its stages, and of those that it builds on
    OUT/weights/<name>.onnx  the network

What is finished is not done again; what was stopped goes on. Several networks can share one OUT.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dioptre.errors import FileError, InputError
from dioptre.methods.learned import NETWORK, Learned
from dioptre.pipeline.depth_training import NAME as LEARNED_DEPTH
from dioptre.pipeline.depth_training import train_learned_depth
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.recipes import SHIPPED, Catalogue, RegisteredStore, TrainingStage
from dioptre.pipeline.registering import register
from dioptre.pipeline.simulate import simulate
from dioptre.store.manifest import MANIFEST
from dioptre.store.patches import open_patches
from dioptre.train.cache import Done, unwatched
from dioptre.train.distributed import Rank
from dioptre.train.export import Exported, export
from dioptre.train.fit import Watch, train
from dioptre.train.folder import open_run
from dioptre.train.from_onnx import recover_run
from dioptre.train.recipe import BuildsOn, RunSettings

Say = Callable[[str], None]


def train_shipped(
    name: str,
    out: Path,
    settings: RunSettings,
    watch: Watch | None = None,
    done: Done = unwatched,
    say: Say = lambda _line: None,
    catalogue: Catalogue = SHIPPED,
    shipped: Path | None = None,
) -> Exported:
    """Makes a network of a catalogue and returns what its export found.

    Args:
        name: Of the network.
        out: The folder; it may hold other networks' stores and runs already.
        settings: Device and precision; how a stage is validated is its own.
        watch: Told now and then where a training is.
        done: Told how far the simulation, or an earlier network, is with the patches.
        say: Told in words what begins.
        catalogue: The rows.
        shipped: A folder of networks' files. Those that this one builds on are taken from there, and not
            trained again, where they are and came from the stages that they are asked for.
    """
    if Rank.find().world > 1:
        raise InputError("a recipe runs in one process; give several to its stages one by one, by torchrun")
    if name == LEARNED_DEPTH:
        return train_learned_depth(out, settings.device, watch, done, say)
    for stage in catalogue.stages_of(name, lambda one: shipped is not None and _was_made_by(shipped, one)):
        run = out / "runs" / stage.name
        if (run / MANIFEST).exists():
            _check_recipe(run, stage)
            continue
        for store in stage.stores:
            _make_store(store, catalogue, out / "stores", done, say)
        if stage.name != name and shipped is not None and _was_made_by(shipped, stage):
            say(f"taking {stage.name} from its file")
            recover_run(_file_of(shipped, stage.name), open_patches(out / "stores" / stage.stores[0]), run)
            continue
        say(f"training {stage.name}")
        data = [out / "stores" / store for store in stage.stores]
        how = replace(stage.settings, device=settings.device, precision=settings.precision)
        train(data, run, stage.recipe, how, _builds_on(stage, out / "runs"), watch, done)
    row = catalogue.find(name)
    return export(out / "runs" / name, _file_of(out / "weights", name), row.half, row.decision)


def _file_of(weights: Path, name: str) -> Path:
    return weights / f"{name}{NETWORK}"


def _check_recipe(run: Path, stage: TrainingStage) -> None:
    if open_run(run).recipe != stage.recipe:
        raise FileError(f"{run} was trained with another recipe than that of {stage.name}; delete it first")


def _was_made_by(weights: Path, stage: TrainingStage) -> bool:
    """Returns whether a folder of networks has the one that a stage makes."""
    file = _file_of(weights, stage.name)
    return file.exists() and dict(Learned(file).card.recipe) == stage.recipe.to_json()


def _builds_on(stage: TrainingStage, runs: Path) -> BuildsOn:
    return BuildsOn(
        runs / stage.start_from if stage.start_from else None,
        tuple(runs / name for name in stage.after),
        runs / stage.teacher if stage.teacher else None,
    )


def _make_store(name: str, catalogue: Catalogue, stores: Path, done: Done, say: Say) -> None:
    """Simulates or registers a store that is not there yet, and before it the one that it is made from."""
    if (stores / name / MANIFEST).exists():
        return
    store = catalogue.stores[name]
    if isinstance(store, RegisteredStore):
        _make_store(store.source, catalogue, stores, done, say)
        say(f"registering {name}")
        with local_executor() as executor:
            register(stores / store.source, stores / name, store.registration, executor, done)
        return
    say(f"simulating {name}")
    with local_executor() as executor:
        simulate(stores / name, store, executor, done)
