"""`dioptre train`: a network from labelled patches."""

import os
import platform
import sys
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from dioptre.cli.console import progress
from dioptre.errors import MissingExtraError

if TYPE_CHECKING:
    from dioptre.train.fit import Moment

# glibc gives large blocks back to the system at once and asks for them again at the next step, which takes a
# third of the time on a CPU. It must be told before Python starts.
ALLOCATOR = "GLIBC_TUNABLES"
CALM = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1"


@dataclass(frozen=True)
class Train:
    """Train a network on the patches of a store.

    The defaults are the paper's recipe, which needs a GPU or days. A run that was stopped goes on from its
    last checkpoint. TensorBoard reads OUT. Start it with torchrun for several processes.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folder of a patch store with the splits train and validation."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """Folder of the run."""

    also: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], tyro.conf.arg(metavar="DATA")] = ()
    """Further stores of the same ladder and patch size; may be given several times."""

    problem: Literal["I*", "D*", "I1", "D1"] = "D1"
    """Whole stacks (*) or one look (1), green (I) or left and right views (D)."""

    network: Literal["one-hot", "move", "looks"] = "one-hot"
    """The paper's; one look as planes, told as a move; any number of looks."""

    width: float = 4.0
    """Multiplier of the channels."""

    steps: int = 20_000
    """How many batches."""

    batch: int = 128
    """Patches in a batch (for any number of looks: looks)."""

    learning_rate: float = 1e-3
    """Of Adam, at its highest."""

    beta1: float = 0.5
    """Of Adam."""

    beta2: float = 0.999
    """Of Adam."""

    schedule: Literal["constant", "cosine"] = "constant"
    """Of the learning rate: cosine is a short rise and a long fall."""

    decay: float = 0.0
    """Weight decay."""

    average: float = 0.0
    """Decay of a running average of the weights, which is then the result; 0 for none."""

    distance: Literal["squared", "absolute"] = "squared"
    """Of the soft labels."""

    coefficient: float = 1.0
    """Of the soft labels: larger is sharper."""

    target: Literal["label", "optics"] = "label"
    """What is learned: the label, or where a simulated lens really was sharp."""

    flips: Literal["none", "rows", "both", "all"] = "none"
    """Turn patches upside down; also mirror them (views change places); also lay green on its side."""

    quarters: float = 0.0
    """Part of the steps, the first ones, that see only a quarter of each patch, in a third of the time."""

    moves: float = 0.0
    """Weight of a second answer that a one-hot network learns, and then forgets: how far to move."""

    shared_stem: bool = False
    """Let all positions begin with the same stem; of whole stacks, begin as a measure of contrast."""

    taught: float = 0.0
    """Part of what is learned that a teacher believes, 0 to 1; the rest is the label."""

    frozen: bool = False
    """Keep what a look says alone in the network that is started from; the rest then learns quickly."""

    expects: Literal["even", "far"] = "even"
    """Where the finished network expects things before it looks: anywhere, or the more rarely the nearer."""

    seed: int = 0
    """Of everything random."""

    start_from: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """A finished run to begin with: weights that fit are taken, also between green and two views."""

    after: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")] = ()
    """For a later step: the finished run of each step before it, the first one first."""

    teacher: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """A finished run of the same problem, whose beliefs are learned too: --taught says how much."""

    device: Annotated[str, tyro.conf.arg(metavar="DEVICE")] = "cpu"
    """cpu, cuda or mps."""

    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 for mixed precision, which pays on a GPU and at large widths."""

    validate_every: int = 500
    """Steps between validations, each followed by a checkpoint."""

    validate_patches: int = 1024
    """How many patches a validation looks at."""

    patience: int = 0
    """End after so many validations without a lower loss; 0 for never."""


def need_torch() -> None:
    """Raises ImportError with the way to get torch, if it is not there."""
    if find_spec("torch") is None:
        raise MissingExtraError("training needs torch: pip install 'dioptre[train]'")


def run_train(config: Train) -> int:
    """Trains a network."""
    need_torch()
    from dioptre.methods.base import Problem  # noqa: PLC0415
    from dioptre.train.fit import train  # noqa: PLC0415
    from dioptre.train.recipe import Earlier, Practice, Recipe  # noqa: PLC0415

    given = vars(config)
    recipe = Recipe(
        **{one.name: given[one.name] for one in fields(Recipe)} | {"problem": Problem(config.problem)}
    )
    practice = Practice(**{one.name: given[one.name] for one in fields(Practice)})
    with progress("training", quiet=False) as moved:

        def watch(moment: "Moment") -> None:
            moved(moment.step, moment.steps)
            if moment.validation is not None:
                found = moment.validation
                sys.stdout.write(
                    f"step {found.step}: validation loss {found.loss:.4f} above its floor, "
                    f"mean error {found.mae:.3f} indices\n"
                )
                sys.stdout.flush()

        data = (config.data, *config.also)
        earlier = Earlier(config.start_from, config.after, config.teacher)
        best = train(data, config.out, recipe, practice, earlier, watch, moved)
    sys.stdout.write(f"best at step {best.step}: mean error {best.mae:.3f} indices; wrote {config.out}\n")
    return 0


def calm_the_allocator() -> None:
    """Starts this very process again with a calmer allocator, where that helps."""
    if platform.libc_ver()[0] == "glibc" and ALLOCATOR not in os.environ:
        os.environ[ALLOCATOR] = CALM
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
