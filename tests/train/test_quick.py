import pytest
import torch
from torch import nn

from dioptre.train.network import Alone, LooksNet, MoveNet, OneHotNet
from dioptre.train.quick import quicken


@pytest.mark.parametrize(
    ("network", "slices"),
    [
        (OneHotNet(7, 2, 0.25), 1),
        (OneHotNet(7, 2, 0.25), 2),
        (MoveNet(7, 2, 0.25), 1),
        (Alone(LooksNet(7, 2, 0.25)), 7),
    ],
)
def test_a_quick_network_answers_as_torch_does(network: nn.Module, slices: int) -> None:
    torch.manual_seed(0)
    pixels, where = torch.rand(5, slices, 2, 32, 32), torch.rand(5, 2)
    indices = torch.stack([torch.randperm(7)[:slices] for _ in range(5)])
    quick = quicken(network, pixels[:2], indices[:2], where[:2])
    with torch.no_grad():
        torch.testing.assert_close(
            quick(pixels, indices, where), network.eval()(pixels, indices, where), atol=1e-4, rtol=1e-4
        )


def test_a_quick_network_no_longer_learns() -> None:
    network = MoveNet(7, 1, 0.25)
    given = (torch.rand(2, 1, 1, 32, 32), torch.tensor([[3], [5]]), torch.zeros(2, 2))
    quick = quicken(network, *given)
    before = quick(*given)
    nn.init.ones_(network.head[1].bias[:3])
    torch.testing.assert_close(quick(*given), before)


def test_elsewhere_torch_is_asked() -> None:
    network = MoveNet(7, 1, 0.25).to("meta")
    given = (torch.rand(2, 1, 1, 32, 32, device="meta"),)
    assert quicken(network, *given) is network
    assert not network.training
