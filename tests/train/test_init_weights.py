import torch

from dioptre.train.init_weights import green_to_two_views, two_views_to_green
from dioptre.train.networks.move import MoveNet
from dioptre.train.networks.one_hot import OneHotNet, share_stem
from tests.train.conftest import looks


def seen_by(network: OneHotNet | MoveNet, pixels: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
    """Returns what a network sees in looks as they are."""
    if isinstance(network, OneHotNet):
        return network(pixels, *others)
    return network.encoder(pixels[:, 0], others[0][:, 0] / (network.positions - 1), *others[1:])


def test_a_network_for_green_can_begin_with_one_for_two_views() -> None:
    pixels, *others = looks(3, 1, 1, 7)
    for kind in (OneHotNet, MoveNet):
        torch.manual_seed(1)
        two, one = kind(7, 2, 0.25).eval(), kind(7, 1, 0.25).eval()
        one.load_state_dict(two_views_to_green(two.state_dict(), one.state_dict()))
        both = pixels.expand(-1, -1, 2, -1, -1)
        torch.testing.assert_close(seen_by(one, pixels, *others), seen_by(two, both, *others))
    network, own = OneHotNet(7, 2, 0.25), OneHotNet(7, 1, 0.25)
    share_stem(network)
    begun = two_views_to_green(network.state_dict(), own.state_dict())["stem.weight"]
    kept = (begun == own.stem.weight).flatten(1).all(dim=1)
    assert kept.tolist() == [False] * 4 + [True] * 4  # the second half were differences


def test_a_network_for_two_views_can_begin_with_one_for_green() -> None:
    pixels, *others = looks(3, 1, 1, 7)
    both = pixels.expand(-1, -1, 2, -1, -1)
    for kind in (OneHotNet, MoveNet):
        torch.manual_seed(1)
        two, one = kind(7, 2, 0.25).eval(), kind(7, 1, 0.25).eval()
        two.load_state_dict(green_to_two_views(one.state_dict(), two.state_dict()))
        torch.testing.assert_close(seen_by(two, both, *others), seen_by(one, pixels, *others))
