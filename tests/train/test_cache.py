import numpy as np
import pytest
import torch

from dioptre.store.patches import PatchStore
from dioptre.train.cache import FeatureCache, cache_features
from dioptre.train.dataloader import JoinedStores
from dioptre.train.networks.looks import CombineLooks, LookFeatures, LooksNet


def test_what_a_look_says_alone_is_cached(store: PatchStore) -> None:
    source, network = JoinedStores((store,)), LooksNet(7, 2, 0.25).eval()
    rows = np.array([3, 5])
    cache = FeatureCache(cache_features(source, LookFeatures(network), rows, 2), source.where)
    features, where = cache.read(np.array([5]), np.array([[6, 2]]), 2)
    stack = store.stack([5], [6, 2])
    given = torch.from_numpy(stack.pixels), torch.tensor([[6, 2]]), torch.from_numpy(where), torch.ones(1, 2)
    np.testing.assert_allclose(features, network.look_features(*given).detach().numpy(), atol=1e-2)
    np.testing.assert_allclose(where, stack.where, atol=1e-6)
    answers = [CombineLooks(network)(torch.from_numpy(features), *given[1:]), network(*given)]
    torch.testing.assert_close(*answers, atol=1e-2, rtol=0)
    assert (cache.features[4] == 0).all()
    with pytest.raises(ValueError, match="cannot be cropped"):
        cache.read(rows, np.array([[1], [2]]), 2, np.zeros((2, 2)))
