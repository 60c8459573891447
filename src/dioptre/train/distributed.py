"""The processes of one run, started by torchrun: who writes files, and what is shared.

Every process takes its part of each batch; gradients and the moments of batch normalisation are summed over
all, so that the weights are those that one process with the whole batch would have.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, distributed, nn
from torch.distributed.nn.functional import all_reduce

from dioptre.errors import FileError
from dioptre.store.manifest import write_file


@dataclass(frozen=True)
class Rank:
    """Which of the run's processes this is."""

    number: int
    world: int

    @classmethod
    def find(cls) -> "Rank":
        """Returns the rank that torchrun has given this process, or that of the only one."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.number == 0

    def __enter__(self) -> "Rank":
        if self.world > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return self

    def __exit__(self, *_: object) -> None:
        if distributed.is_initialized():
            distributed.destroy_process_group()

    def make_once(self, path: Path, make: Callable[[], Shaped[np.ndarray, "..."]]) -> Any:
        """Returns an array that the first process makes, once for a run, and all read from a file."""
        if self.first and not path.exists():
            made = make()
            write_file(path, lambda file: np.save(file, made))
        if self.world > 1:
            distributed.barrier()
        try:
            with path.open("rb") as file, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy's, of types that were called otherwise once
                return np.load(file, allow_pickle=False)
        except Exception as error:  # a damaged head raises nearly anything: TokenError, MemoryError, ...
            reason = (str(error) or repr(error)).splitlines()[0]
            raise FileError(f"{path} is damaged ({reason}): delete it, and it is made again") from None


class SharedBatchNorm(nn.BatchNorm2d):
    """Batch normalisation over the parts of a batch that several processes hold.

    torch's own needs a GPU. The moments are summed over all processes, and so are their gradients: the
    weights learn what one process with the whole batch would.
    """

    def forward(self, x: Float[Tensor, "batch channel row col"]) -> Float[Tensor, "batch channel row col"]:
        """Returns the normalised channels."""
        if not self.training:
            return super().forward(x)
        sums = all_reduce(torch.cat([x.sum(dim=(0, 2, 3)), x.new_tensor([x.numel() / x.shape[1]])]))
        count, mean = sums[-1], sums[:-1] / sums[-1]
        away = x - mean[:, None, None]
        variance = all_reduce(away.square().sum(dim=(0, 2, 3))) / count
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.momentum is not None
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return away * scale[:, None, None] + self.bias[:, None, None]


def share_batch_norms(network: nn.Module) -> None:
    """Replaces every batch normalisation of a network by one that is shared by all processes."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = SharedBatchNorm
