"""A network while it learns: its form for training, its optimiser, its moving average."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dioptre.errors import InputError
from dioptre.train.dataloader import Batch
from dioptre.train.distributed import Rank, share_batch_norms
from dioptre.train.loss import divergence
from dioptre.train.networks import NETWORKS
from dioptre.train.recipe import Recipe, RunSettings, learning_rate


class Trainer:
    """A network while it learns.

    Args:
        network: As its training begins.
        recipe: What to train.
        settings: How to run it.
        rank: Which of the run's processes this is.
    """

    def __init__(self, network: nn.Module, recipe: Recipe, settings: RunSettings, rank: Rank) -> None:
        if recipe.batch % rank.world:
            raise InputError(f"a batch of {recipe.batch} cannot be shared by {rank.world} processes")
        self.recipe, self.settings, self.rank = recipe, settings, rank
        self.device = torch.device(settings.device)
        self.kind = NETWORKS[recipe.network]
        if rank.world > 1:
            share_batch_norms(network)
        self.network = network.to(self.device)
        self.module = self.kind.learner(network, recipe).to(self.device)
        self.ema = (
            AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(recipe.ema), use_buffers=True)
            if recipe.ema
            else None
        )
        self.optimiser = torch.optim.AdamW(
            self.module.parameters(),
            lr=recipe.learning_rate,
            betas=(recipe.beta1, recipe.beta2),
            weight_decay=recipe.weight_decay,
        )
        self._shared: nn.Module | None = None

    def step(self, batch: Batch, labels: Float[Tensor, "batch n"], step: int) -> float:
        """Learns one batch and returns its loss, that of auxiliary heads left out."""
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.recipe, step)
        torch.manual_seed(self.recipe.seed * 1_000_003 + step * self.rank.world + self.rank.number)
        with self._precision():
            logits = self._in_training()(*batch.inputs).float()
        heads = logits.unbind(dim=1) if logits.ndim == 3 else (logits,)
        own, *auxiliary = (divergence(head, labels).mean() for head in heads)
        total = own
        for one in auxiliary:
            total = total + self.recipe.auxiliary * one
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        self.optimiser.step()
        if self.ema is not None:
            self.ema.update_parameters(self.network)
        return float(own.detach())

    @property
    def result(self) -> nn.Module:
        """The network to keep: the moving average, if there is one."""
        return self.network if self.ema is None else self.ema.module

    def answerer(self) -> nn.Module:
        """Returns the network to keep, in the form that answers what it is fed, for inference."""
        return self.kind.answerer(self.result, self.recipe).eval()

    def _in_training(self) -> nn.Module:
        if self._shared is None:
            self._shared = DistributedDataParallel(self.module) if self.rank.world > 1 else self.module
        return self._shared.train()

    def _precision(self) -> AbstractContextManager[object]:
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def state(self) -> dict[str, Any]:
        """Returns all that is needed to go on learning."""
        return {
            "network": self.module.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "ema": None if self.ema is None else self.ema.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Goes back to where `state` was called."""
        self.module.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.ema is not None:
            self.ema.load_state_dict(state["ema"])
