"""DepthNet: sizes, and that its cost volume is lowest at the shift of the views."""

import pytest

torch = pytest.importorskip("torch")

from dioptre.methods.depth_network import SCALE, STRIDE
from dioptre.train.networks.depth import REACH, DepthNet, unlikeness


@pytest.mark.parametrize(("rows", "cols"), [(32, 48), (64, 32)])
def test_there_is_a_map_for_each_scale(rows: int, cols: int) -> None:
    network = DepthNet(0.25).eval()
    views = torch.rand(2, 2, rows, cols)
    maps = network.maps(views)
    assert [tuple(one.shape) for one in maps] == [
        (2, rows // scale, cols // scale) for scale in (SCALE, 2 * SCALE, STRIDE)
    ]
    assert torch.equal(maps[0], network(views))


def test_brightness_of_a_view_does_not_matter() -> None:
    network = DepthNet(0.25).eval()
    views = 0.1 + 0.5 * torch.rand(1, 2, 32, 32)
    shaded = views * torch.tensor([0.9, 0.4])[None, :, None, None]
    torch.testing.assert_close(network(shaded), network(views), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shift", [-3, 0, 2])
def test_views_differ_least_at_their_shift(shift: int) -> None:
    generator = torch.Generator().manual_seed(0)
    texture = torch.rand(1, 1, 24, 80, generator=generator)
    left, right = texture[..., 10:70], texture[..., 10 - shift : 70 - shift]
    costs = unlikeness(torch.cat([left, right], dim=1))
    assert costs.shape == (1, 2 * REACH + 1, 24, 60)
    assert int(costs[0, :, :, 10:50].mean(dim=(1, 2)).argmin()) - REACH == shift
