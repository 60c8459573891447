import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from dioptre.train.networks.looks import LooksNet
from dioptre.train.networks.mobilenet import CHUNK, InvertedResidual, scale_channels
from dioptre.train.networks.move import MoveNet
from dioptre.train.networks.one_hot import OneHotNet
from tests.train.conftest import looks


def parameters(network: nn.Module) -> int:
    return sum(one.numel() for one in network.parameters())


def multiply_adds(network: nn.Module, slices: int, views: int, size: int) -> int:
    """Returns the number of multiply-adds for one patch; the paper's input has all slices, seen or not."""
    pixels = torch.zeros(1, slices, views, size, size)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network.eval()(pixels, torch.arange(slices)[None], torch.zeros(1, 2), torch.ones(1, 2))
    return counter.get_total_flops() // 2


@pytest.mark.parametrize(
    ("views", "width", "millions", "mega_macs"),
    [
        (2, 4.0, 34.752, 1889.58),
        (1, 4.0, 34.695, 1658.37),
        (2, 0.25, 0.31, 40),
        (2, 0.5, 0.76, 87),
        (2, 1.0, 2.31, 210),
        (2, 2.0, 8.88, 595),
    ],
)
def test_the_papers_network_has_the_papers_size(
    views: int, width: float, millions: float, mega_macs: float
) -> None:
    network = OneHotNet(49, views, width)
    digits = 3 if width == 4 else 2
    assert round(parameters(network) / 1e6, digits) == millions
    found = multiply_adds(network, 49, views, 128) / 1e6
    assert found == pytest.approx(mega_macs, rel=5e-6 if width == 4 else 0.012)


def test_channels_are_multiples_of_eight() -> None:
    assert [scale_channels(24, width) for width in (0.35, 0.5, 0.75)] == [8, 16, 24]  # 18 is too far from 16
    assert [scale_channels(32, width) for width in (0.25, 0.5, 1.0, 4.0)] == [8, 16, 32, 128]


def test_our_network_is_cheaper_than_a_third_of_the_papers() -> None:
    ours = multiply_adds(MoveNet(49, 2, 0.5), 1, 2, 128)
    assert ours <= multiply_adds(OneHotNet(49, 2, 0.5), 49, 2, 128) / 3


@pytest.mark.parametrize("stride", [1, 2])
def test_a_block_can_begin_as_the_identity(stride: int) -> None:
    block = InvertedResidual(8, 16, stride, 6).eval()
    block.initialise_identity()
    x = torch.randn(2, 8, 16, 16).clamp(-6, 6)
    wanted = x if stride == 1 else functional.avg_pool2d(x, 3, 2, 1)
    torch.testing.assert_close(block(x)[:, :8], wanted, atol=1e-3, rtol=1e-3)
    residual = InvertedResidual(8, 8, 1, 6).eval()
    residual.initialise_identity()
    torch.testing.assert_close(residual(x), x)


@pytest.mark.parametrize("network", [OneHotNet(7, 2, 0.25), MoveNet(7, 2, 0.25), LooksNet(7, 2, 0.25)])
def test_a_batch_is_so_many_of_one(network: nn.Module) -> None:
    network.eval()
    count = CHUNK + 2  # more than is seen at a time
    given = looks(count, 1, 2, 7)
    together = network(*given)
    assert together.shape == (count, 7 if isinstance(network, OneHotNet) else 9)
    for i in (0, CHUNK, CHUNK + 1):
        alone = network(*(one[i : i + 1] for one in given))
        torch.testing.assert_close(together[i : i + 1], alone, atol=1e-5, rtol=1e-4)
