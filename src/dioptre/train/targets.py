"""What is to be learned of a patch: its true position, its soft label, and a teacher's posterior."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from dioptre.errors import InputError
from dioptre.train.dataloader import Batch, JoinedStores
from dioptre.train.folder import open_run
from dioptre.train.inference import Inference, LazyInference
from dioptre.train.loss import soft_labels, with_beyond
from dioptre.train.networks import NETWORKS
from dioptre.train.recipe import Recipe


def targets(source: JoinedStores, recipe: Recipe) -> Float[np.ndarray, " all"]:
    """Returns the true position of every patch: its label, or where the simulated lens was sharp.

    A subject that a store knows to be out of the lens's reach has a position beyond the grid, and a patch
    with nothing to focus on none: NaN. The mean error of the lens is left in: a network can know that.
    """
    beyond = source.column("beyond") if source.has_column("beyond") else 0.0
    if source.has_column("focusable"):
        beyond = np.where(source.column("focusable").astype(bool), beyond, np.nan)
    if recipe.target == "label":
        return source.column("truth") + beyond
    if not (source.has_column("lens_error") and source.has_column("depth")):
        raise InputError("only a simulated store knows where its lens was sharp: train with --target label")
    exact = source.stores[0].format.grid.dioptres_to_index(source.column("depth")) + beyond
    error = source.column("lens_error")
    return exact - (error - error.mean())


def load_teacher(path: Path | None, recipe: Recipe, device: torch.device) -> Inference | None:
    """Returns the network of a finished run that sees the same looks as another is to see."""
    if path is None:
        return None
    run = open_run(path)
    if run.recipe.problem != recipe.problem:
        raise InputError(
            f"{path} was trained for {run.recipe.problem.value} and cannot teach {recipe.problem.value}"
        )
    return LazyInference(run.network().to(device))


@dataclass(frozen=True, eq=False)
class Supervision:
    """Makes the labels of batches.

    Attributes:
        recipe: What to train.
        positions: Of the grid.
        teacher: Whose posterior is learned too; None for the label alone.
    """

    recipe: Recipe
    positions: int
    teacher: Inference | None = None

    def labels(self, batch: Batch) -> Float[Tensor, "batch n"]:
        """Returns the distribution that is to be learned for each patch: even where there is no position."""
        recipe, beyond = self.recipe, NETWORKS[self.recipe.network].beyond
        nowhere, target = torch.isnan(batch.target), torch.nan_to_num(batch.target)
        labels = soft_labels(target, self.positions, recipe.distance, recipe.coefficient)
        if beyond:
            labels = with_beyond(labels, target)
        labels = torch.where(nowhere[:, None], 1 / labels.shape[1], labels)
        if self.teacher is None:
            return labels
        taught = torch.softmax(self.teacher(*batch.inputs), dim=1)
        return labels.lerp(match_beyond(taught, self.positions, beyond), recipe.distillation)


def match_beyond(
    probabilities: Float[Tensor, "batch _"], positions: int, beyond: bool
) -> Float[Tensor, "batch _"]:
    """Returns a teacher's posterior for a network that can tell what lies beyond the ends, or cannot.

    To one that cannot, the focus is on the grid; from one that cannot, nothing is learned of beyond.
    """
    tells = probabilities.shape[1] == positions + 2
    if tells == beyond:
        return probabilities
    if beyond:
        return functional.pad(probabilities, (1, 1))
    ladder = probabilities[:, 1:-1]
    return ladder / ladder.sum(dim=1, keepdim=True).clamp_min(torch.finfo(ladder.dtype).tiny)
