"""Training of a network that tells depth up to an affine transform (Garg 2019), on wide pictures.

The loss of a picture is what is left of the variance of its defocus after the affine transform of the
network's map that fits best, in closed form (`unexplained`): that is how the map will be used, and what a
dioptre of defocus looks like varies from phone to phone and over the frame. A picture of a single depth would
teach nothing by that; so the map is also drawn to the defocus itself (`astray`).

Each batch has pictures of one size, which is drawn: from a patch to a good part of a wide picture, smaller
ones in larger numbers.

    writing.json    the recipe and the data's hash; becomes manifest.json
    checkpoint.pt   where the training is
    best.pt         the weights with the lowest validation loss so far
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dioptre import __version__
from dioptre.errors import FileError, InputError
from dioptre.methods.depth_network import KIND
from dioptre.store.depth_images import DepthImages
from dioptre.store.lock import locked
from dioptre.store.manifest import begin_folder, hash_file, plain_json, read_manifest, write_manifest
from dioptre.train.depth_recipe import DepthRecipe
from dioptre.train.folder import BEST, CHECKPOINT, ValidationResult, load_state, restoring, save_state
from dioptre.train.networks.depth import DepthNet

WHAT = "a depth network's training"
RIDGE = 1e-5  # of the affine fit
FLAT = 1.0  # mean steps of the grid: a picture whose depth varies by less counts less
GAUGE = 8.0  # mean steps of the grid of defocus that a map has 1 for
VALIDATION_SIZES = (128, 384)

Defocus = Float[Tensor, "batch map_row map_col"]
Told = Callable[[int, int, float, ValidationResult | None], None]


def train_depth(
    data: Path, out: Path, recipe: DepthRecipe, device: str = "cpu", told: Told = lambda *_: None
) -> ValidationResult:
    """Trains a depth network into a folder and returns its best validation; goes on where it was stopped.

    Args:
        data: A store of wide pictures.
        out: The run's folder.
        recipe: What to train.
        device: Where it is computed.
        told: Told now and then the step, all steps, the loss, and what a validation found.
    """
    recipe.check()
    training, validation = (DepthImages(data, split) for split in ("train", "validation"))
    plan = {
        "kind": KIND,
        "dioptre": __version__,
        "recipe": plain_json("recipe", asdict(recipe)),
        "data": training.manifest["sha256"],
    }
    if max(recipe.sizes) > training.form.size:
        raise InputError(f"{data} has pictures of {training.form.size} pixels, not {max(recipe.sizes)}")
    with locked(out):
        begin_folder(out, plan, WHAT)
        best = _Training(recipe, training, validation, out, torch.device(device), told).run()
        write_manifest(out, {**plan, "weights": hash_file(out / BEST), "validation": asdict(best)})
        (out / CHECKPOINT).unlink(missing_ok=True)
    return best


def load_depth(path: Path) -> tuple[DepthNet, dict[str, Any]]:
    """Returns the network of a finished training, for inference, and what its manifest says."""
    entries = read_manifest(path, WHAT)
    if entries.get("kind") != KIND:
        raise FileError(f"{path} holds {entries.get('kind', 'something else')}, not a {KIND} training")
    weights = load_state(path / BEST, torch.device("cpu"))
    if weights is None:
        raise FileError(f"{path / BEST} is missing")
    with restoring(path / BEST):
        network = DepthNet(float(entries["recipe"]["width"]))
        network.load_state_dict(weights)
    return network.eval(), entries


# The loop


class _Training:
    def __init__(
        self,
        recipe: DepthRecipe,
        training: DepthImages,
        validation: DepthImages,
        out: Path,
        device: torch.device,
        told: Told,
    ) -> None:
        self.recipe, self.training, self.validation = recipe, training, validation
        self.out, self.device, self.told = out, device, told
        torch.manual_seed(recipe.seed)
        self.step_dioptres = float(np.mean(np.diff(training.form.grid.dioptres)))
        self.network = DepthNet(recipe.width).to(device)
        average = get_ema_multi_avg_fn(recipe.ema)
        self.ema = AveragedModel(self.network, multi_avg_fn=average, use_buffers=True)
        self.optimiser = torch.optim.AdamW(self.network.parameters(), lr=recipe.learning_rate)

    def run(self) -> ValidationResult:
        """Trains to the end and returns the best validation."""
        step, best = self._resume()
        while step < self.recipe.steps:
            until = min(step + self.recipe.validate_every, self.recipe.steps)
            value = 0.0
            for at in range(step, until):
                value = self._learn(at)
                if at + 1 < until:
                    self.told(at + 1, self.recipe.steps, value, None)
            step, last = until, self._validate(until)
            if best is None or last.loss < best.loss:
                best = last
                save_state(self.out / BEST, self.ema.module.state_dict())
            self._keep(step, best)
            self.told(step, self.recipe.steps, value, last)
        assert best is not None, "a training has at least one step"
        return best

    def _learn(self, step: int) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate_at(step)
        views, defocus = draw_batch(self.training, self.recipe, step)
        maps = self.network.train().maps(views.to(self.device))
        target = defocus.to(self.device) / self.step_dioptres
        loss = sum(
            (unexplained(one, target).mean() + astray(one, target)) / 2**at for at, one in enumerate(maps)
        )
        assert isinstance(loss, Tensor)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        self.ema.update_parameters(self.network)
        return float(loss.detach())

    @torch.no_grad()
    def _validate(self, step: int) -> ValidationResult:
        """Returns the loss, and the mean error in indices after the best affine transform."""
        network = self.ema.module.eval()
        losses, errors = [], []
        for views, defocus in _validation_batches(self.validation):
            target = defocus.to(self.device) / self.step_dioptres
            found = network(views.to(self.device))
            losses.append(unexplained(found, target))
            errors.append((fit_affine(found, target) - target).abs().mean(dim=(1, 2)))
        return ValidationResult(step, float(torch.cat(losses).mean()), float(torch.cat(errors).mean()))

    def _resume(self) -> tuple[int, ValidationResult | None]:
        state = load_state(self.out / CHECKPOINT, self.device)
        if state is None:
            return 0, None
        with restoring(self.out / CHECKPOINT):
            self.network.load_state_dict(state["network"])
            self.ema.load_state_dict(state["ema"])
            self.optimiser.load_state_dict(state["optimiser"])
            return int(state["step"]), ValidationResult(**state["best"])

    def _keep(self, step: int, best: ValidationResult) -> None:
        state = {
            "step": step,
            "best": asdict(best),
            "network": self.network.state_dict(),
            "ema": self.ema.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        save_state(self.out / CHECKPOINT, state)


# Loss


def fit_affine(maps: Defocus, target: Defocus) -> Defocus:
    """Returns a D + b, the affine transform of each map that is nearest to its target, by least squares."""
    mean, wanted = (one.mean(dim=(1, 2), keepdim=True) for one in (maps, target))
    away = maps - mean
    variance = away.square().mean(dim=(1, 2), keepdim=True)
    covariance = (away * (target - wanted)).mean(dim=(1, 2), keepdim=True)
    return covariance / (variance + RIDGE) * away + wanted


def unexplained(maps: Float[Tensor, "batch _ _"], target: Defocus) -> Float[Tensor, " batch"]:
    """Returns the part of each target's variance that no affine transform of its map explains.

    A target that varies by less than FLAT counts less, one of a single depth not at all. A target that is
    finer than its map is averaged.
    """
    pooled = _pooled(target, maps)
    left = (fit_affine(maps, pooled) - pooled).square().mean(dim=(1, 2))
    return left / (pooled.var(dim=(1, 2), correction=0) + FLAT**2)


def astray(maps: Float[Tensor, "batch _ _"], target: Defocus) -> Float[Tensor, ""]:
    """Returns the smooth L1 loss of maps, whose unit is GAUGE, against their targets."""
    return functional.smooth_l1_loss(maps, _pooled(target, maps) / GAUGE, beta=0.25)


def _pooled(target: Defocus, maps: Float[Tensor, "batch _ _"]) -> Float[Tensor, "batch _ _"]:
    rows, cols = maps.shape[1:]
    return functional.adaptive_avg_pool2d(target[:, None], (rows, cols))[:, 0]


# Batches


def draw_batch(
    pictures: DepthImages, recipe: DepthRecipe, step: int
) -> tuple[Float[Tensor, "batch 2 row col"], Defocus]:
    """Returns parts of random pictures, all of one random size, and their defocus; the same for a step.

    Half of them are upside down, half mirrored (views change places then).
    """
    rng = np.random.default_rng([recipe.seed, step])
    size = int(rng.choice(recipe.sizes))
    count = max(1, round(recipe.batch * max(recipe.sizes) ** 2 / size**2))
    parts = []
    for picture in rng.integers(len(pictures), size=count):
        row, col = rng.integers(0, (pictures.form.size - size) // pictures.scale + 1, 2) * pictures.scale
        pixels, defocus = pictures.crop(int(picture), int(row), int(col), size)
        if rng.random() < 0.5:
            pixels, defocus = pixels[:, ::-1], defocus[::-1]
        if rng.random() < 0.5:
            pixels, defocus = pixels[::-1, :, ::-1], defocus[:, ::-1]
        parts.append((pixels, defocus))
    views, maps = (np.stack(some) for some in zip(*parts, strict=True))
    return torch.from_numpy(views), torch.from_numpy(maps)


def _validation_batches(
    pictures: DepthImages, count: int = 8
) -> Iterator[tuple[Float[Tensor, "batch 2 row col"], Defocus]]:
    """Yields the middle of each picture, at two sizes."""
    for wanted in VALIDATION_SIZES:
        size = min(wanted, pictures.form.size)
        corner = (pictures.form.size - size) // 2 // pictures.scale * pictures.scale
        for begin in range(0, len(pictures), count):
            some = range(begin, min(begin + count, len(pictures)))
            parts = [pictures.crop(picture, corner, corner, size) for picture in some]
            views, maps = (np.stack(one) for one in zip(*parts, strict=True))
            yield torch.from_numpy(views), torch.from_numpy(maps)
