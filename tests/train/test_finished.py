import numpy as np
import torch

from dioptre.dataset.store import PatchStore
from dioptre.train.feed import Memory, Source
from dioptre.train.finished import follow, remember
from dioptre.train.network import Listener, LooksNet, OneHotNet


def test_what_a_look_says_alone_is_remembered(store: PatchStore) -> None:
    source, network = Source((store,)), LooksNet(7, 2, 0.25).eval()
    memory = Memory(remember(source, network, np.array([3, 5]), 2), source.where)
    said, where = memory.read(np.array([5]), np.array([[6, 2]]), 2)
    stack = store.stack([5], [6, 2])
    given = torch.from_numpy(stack.pixels), torch.tensor([[6, 2]]), torch.from_numpy(where)
    np.testing.assert_allclose(said, network.listen(*given).detach().numpy(), atol=1e-2)
    np.testing.assert_allclose(where, stack.where, atol=1e-6)
    answers = [Listener(network)(torch.from_numpy(said), *given[1:]), network(*given)]
    torch.testing.assert_close(*answers, atol=1e-2, rtol=0)
    assert (memory.said[4] == 0).all()


def test_networks_look_where_the_one_before_answered(store: PatchStore) -> None:
    torch.manual_seed(1)
    one, two = OneHotNet(7, 2, 0.25).eval(), OneHotNet(7, 2, 0.25).eval()
    seen: list[tuple[int, int]] = []
    trails = follow(Source((store,)), [one, two], 2, lambda at, of: seen.append((at, of)))
    assert trails.shape == (len(store), 7, 3)
    assert (trails[:, :, 0] == np.arange(7)).all()
    looks = [4]
    for step, network in enumerate((one, two)):
        stack = store.stack([5], looks)
        with torch.no_grad():
            scores = network(torch.from_numpy(stack.pixels), torch.tensor([looks]), torch.zeros(1, 2))
        assert trails[5, 4, step + 1] == scores.argmax().item()
        looks.append(int(trails[5, 4, step + 1]))
    assert seen[-1] == (len(store), len(store))
