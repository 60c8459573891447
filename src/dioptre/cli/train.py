"""`dioptre train`: a network from labelled patches."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.errors import InputError, MissingExtraError
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings

if TYPE_CHECKING:
    from dioptre.train.fit import Progress

# glibc gives large blocks back to the system at once and asks for them again at the next step, which takes a
# third of the time on a CPU. It must be told before Python starts.
ALLOCATOR = "GLIBC_TUNABLES"
KEEP_BLOCKS = (
    "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1"
)


@dataclass(frozen=True)
class Train:
    """Train a network on the patches of a store, or a shipped one from nothing.

    The defaults are the paper's recipe, which needs a GPU or days. A run that was stopped goes on from its
    last checkpoint. TensorBoard reads OUT. Start it with torchrun for several processes.

    Attributes:
        folders: A patch store with the splits train and validation, and the folder to write; with --recipe,
            only the latter.
        training: What to train.
        builds_on: Finished runs that it builds on.
        running: How to run it.
        recipe: Train a shipped network from nothing: makes OUT/stores, OUT/runs and OUT/weights/NAME.onnx.
        shipped: With --recipe, take the networks that it builds on from the files that come with the package,
            if their rows are still the same, instead of training those too.
        also: Further stores of the same grid and patch size; may be given several times.
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[DATA] OUT")]
    training: Annotated[Recipe, tyro.conf.OmitArgPrefixes, tyro.conf.EnumChoicesFromValues]
    builds_on: Annotated[
        BuildsOn, tyro.conf.OmitArgPrefixes, tyro.conf.UseAppendAction, tyro.conf.DisallowNone
    ]
    running: Annotated[RunSettings, tyro.conf.OmitArgPrefixes]
    recipe: Annotated[str, tyro.conf.arg(metavar="NAME")] = ""
    shipped: bool = False
    also: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], tyro.conf.arg(metavar="DATA")] = ()


def need_torch() -> None:
    """Raises MissingExtraError with the way to get torch, if it is not there."""
    if find_spec("torch") is None:
        raise MissingExtraError("training needs torch: pip install 'dioptre[train]'")


def run_train(config: Train) -> int:
    """Trains a network."""
    need_torch()
    if config.recipe:
        return _run_recipe(config)
    if config.shipped:
        raise InputError("--shipped goes with --recipe; to begin with a network's run, --start-from")
    if len(config.folders) != 2:
        raise InputError(
            f"a training has a store and a folder to write, DATA OUT, not {len(config.folders)} folders"
        )
    from dioptre.train.fit import train  # noqa: PLC0415

    data, out = config.folders
    with progress("training", quiet=False) as moved:
        best = train(
            (data, *config.also),
            out,
            config.training,
            config.running,
            config.builds_on,
            _watch(moved),
            moved,
        )
    sys.stdout.write(f"best at step {best.step}: mean error {best.mae:.3f} indices; wrote {out}\n")
    return DONE


def _run_recipe(config: Train) -> int:
    from dioptre.methods.learned import WEIGHTS  # noqa: PLC0415
    from dioptre.pipeline.training import train_shipped  # noqa: PLC0415

    if len(config.folders) != 1 or config.also:
        raise InputError("--recipe makes its own stores: give only the folder to write")
    running = RunSettings(config.running.device, config.running.precision)
    if (config.training, config.builds_on, config.running) != (Recipe(), BuildsOn(), running):
        raise InputError("--recipe decides what is trained: only --device and --precision go with it")
    with progress("training", quiet=False) as moved:
        found = train_shipped(
            config.recipe,
            config.folders[0],
            running,
            _watch(moved),
            moved,
            _say,
            shipped=WEIGHTS if config.shipped else None,
        )
    _say(f"wrote {found.path}: {found.bytes / 1e6:.2f} MB")
    return DONE


def _watch(moved: Callable[[int, int], None]) -> Callable[["Progress"], None]:
    def watch(at: "Progress") -> None:
        moved(at.step, at.steps)
        if at.validation is not None:
            found = at.validation
            _say(
                f"step {found.step}: validation loss {found.loss:.4f} above its least, "
                f"mean error {found.mae:.3f} indices"
            )

    return watch


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def calm_the_allocator() -> None:
    """Starts this very process again with an allocator that keeps large blocks, where that helps."""
    if platform.libc_ver()[0] == "glibc" and ALLOCATOR not in os.environ:
        os.environ[ALLOCATOR] = KEEP_BLOCKS
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
