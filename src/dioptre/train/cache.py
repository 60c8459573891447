"""A feature cache: what a frozen network says of every look at every patch, in place of the pixels."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Shaped
from torch import nn

from dioptre.errors import InputError
from dioptre.train.dataloader import JoinedStores
from dioptre.train.inference import LazyInference

Done = Callable[[int, int], None]  # told how many patches are done, and of how many


def unwatched(_done: int, _all: int) -> None:
    """Ignores the progress that it is told."""


@dataclass(frozen=True, eq=False)
class FeatureCache:
    """The features of every look at every patch of a source.

    Attributes:
        features: In half precision.
        where: The patches' centres in the frame.
    """

    features: Shaped[np.ndarray, "all position feature"]
    where: Float32[np.ndarray, "all 2"]

    @property
    def positions(self) -> int:
        """Positions of the grid."""
        return self.features.shape[1]

    def __len__(self) -> int:
        """Returns the number of patches."""
        return len(self.features)

    def read(
        self,
        rows: Int[np.ndarray, " batch"],
        indices: Int[np.ndarray, "batch slice"],
        _views: int,
        crop_at: Float[np.ndarray, "batch 2"] | None = None,
    ) -> tuple[Float32[np.ndarray, "batch slice feature"], Float32[np.ndarray, "batch 2"]]:
        """Returns the features of some looks at some patches, and where these lie in their frames."""
        if crop_at is not None:
            raise InputError("a feature cache holds whole patches and cannot be cropped")
        return self.features[rows[:, None], indices].astype(np.float32), self.where[rows]


@torch.no_grad()
def cache_features(
    source: JoinedStores,
    encoder: nn.Module,
    rows: Int[np.ndarray, " some"],
    views: int,
    done: Done = unwatched,
    untold: float = 0.0,
) -> Shaped[np.ndarray, "all position feature"]:
    """Returns an encoder's features of every look at some patches of a source; 0 for the others.

    Args:
        source: Where the patches are.
        encoder: Takes pixels, indices, where and told.
        rows: Which patches.
        views: 1 green, 2 left and right.
        done: Told how far it is.
        untold: Part of the patches whose lens position is not told, and likewise whose place in the frame.
    """
    told = (np.random.default_rng(0).random((len(source), 2)) >= untold).astype(np.float32)
    infer, everything = LazyInference(encoder), np.arange(source.positions)[None]
    cached: Shaped[np.ndarray, "all position feature"] | None = None
    for at, row in enumerate(rows):
        pixels, where = source.read(row[None], everything, views)
        given = (
            torch.from_numpy(one).to(infer.device) for one in (pixels, everything, where, told[row][None])
        )
        features = infer(*given)[0].cpu().numpy()
        if cached is None:
            cached = np.zeros((len(source), *features.shape), np.float16)
        cached[row] = features
        done(at + 1, len(rows))
    if cached is None:
        raise InputError("there are no patches whose features could be cached")
    return cached
