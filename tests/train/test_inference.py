import pytest
import torch
from torch import nn

from dioptre.train.inference import LazyInference, inference_session
from dioptre.train.networks.looks import LookFeatures, LooksNet
from dioptre.train.networks.move import MoveNet
from dioptre.train.networks.one_hot import OneHotNet


@pytest.mark.parametrize(
    ("network", "slices"),
    [
        (OneHotNet(7, 2, 0.25), 1),
        (OneHotNet(7, 2, 0.25), 2),
        (MoveNet(7, 2, 0.25), 1),
        (LookFeatures(LooksNet(7, 2, 0.25)), 7),
    ],
)
def test_a_session_answers_as_torch_does(network: nn.Module, slices: int) -> None:
    torch.manual_seed(0)
    indices = torch.stack([torch.randperm(7)[:slices] for _ in range(5)])
    given = torch.rand(5, slices, 2, 32, 32), indices, torch.rand(5, 2), torch.ones(5, 2)
    session = inference_session(network, *(one[:2] for one in given))
    with torch.no_grad():
        torch.testing.assert_close(session(*given), network.eval()(*given), atol=1e-4, rtol=1e-4)


def test_a_session_does_not_see_what_is_learned_later() -> None:
    network = MoveNet(7, 1, 0.25)
    given = (torch.rand(2, 1, 1, 32, 32), torch.tensor([[3], [5]]), torch.zeros(2, 2), torch.ones(2, 2))
    session = inference_session(network, *given)
    before = session(*given)
    nn.init.ones_(network.head[1].bias[:3])
    torch.testing.assert_close(session(*given), before)


def test_elsewhere_torch_is_asked() -> None:
    network = MoveNet(7, 1, 0.25).to("meta")
    given = (torch.rand(2, 1, 1, 32, 32, device="meta"),)
    assert inference_session(network, *given) is network
    assert not network.training


def test_a_session_is_started_once_for_each_shape() -> None:
    infer = LazyInference(MoveNet(7, 1, 0.25))
    for size in (32, 16, 32):
        found = infer(
            torch.rand(2, 1, 1, size, size), torch.tensor([[3], [5]]), torch.zeros(2, 2), torch.ones(2, 2)
        )
        assert found.shape == (2, 9)
    assert len(infer.sessions) == 2
