import pytest
import torch

from dioptre.train import encode
from dioptre.train.networks.looks import CombineLooks, LookFeatures, LooksNet
from tests.train.conftest import looks


def test_the_order_of_looks_does_not_matter() -> None:
    network = LooksNet(7, 1, 0.25).eval()
    pixels, indices, where, told = looks(2, 4, 1, 7)
    order = torch.tensor([2, 0, 3, 1])
    again = network(pixels[:, order], indices[:, order], where, told)
    torch.testing.assert_close(network(pixels, indices, where, told), again, atol=1e-5, rtol=1e-4)


def test_one_look_begins_as_it_is_alone() -> None:
    network = LooksNet(7, 2, 0.25).eval()
    given = looks(2, 1, 2, 7)
    torch.testing.assert_close(network(*given), network.alone(*given))


def test_looks_say_together_what_a_slow_loop_says() -> None:
    torch.manual_seed(3)
    network = LooksNet(7, 1, 0.25).eval()
    torch.nn.init.normal_(network.head.weight, 0, 0.3)
    pixels, indices, where, told = looks(2, 3, 1, 7)
    with torch.no_grad():
        features = network.look_features(pixels, indices, where, told)
        found = network.combine(features, indices)
        position = indices / 6 - (indices / 6).mean(dim=1, keepdim=True)
        x = network.enter(torch.cat([features[..., :512], encode.position_waves(position)], dim=2))
        for layer in network.layers:
            x = layer(x)
        corrections, weights = network.head(x), torch.softmax(network.weight(x), dim=1)
    for scene in range(2):
        total = torch.zeros(9)
        for look in range(3):
            moves = (features[scene, look, 512:] + corrections[scene, look]).softmax(dim=0)
            k = int(indices[scene, look])
            each = [1e-13] + [0.0] * 7 + [1e-13]
            for move, probability in enumerate(moves.tolist(), -6):
                each[min(max(k + move, -1), 7) + 1] += probability
            farther = (k - int(indices[scene].min())) / 6
            nearer = (int(indices[scene].max()) - k) / 6
            each[0] += farther * each[1]
            each[8] += nearer * each[7]
            total += weights[scene, look] * torch.tensor(each).log()
        torch.testing.assert_close(found[scene], total, atol=1e-3, rtol=1e-3)


def test_a_look_far_away_does_not_hide_that_the_focus_is_beyond() -> None:
    logs = torch.full((1, 2, 9), encode.FLOOR)
    logs[0, 0, 0] = 0.0  # a look at the far end: beyond it
    logs[0, 1, 1] = 0.0  # one at the near end can only say: the far end
    shared = encode.share_beyond(logs, torch.tensor([[0, 6]]))
    assert shared[0, 1, 0] == pytest.approx(0.0)
    assert shared[0, :, 0].mean() > shared[0, :, 1].mean() + 10
    alone = encode.share_beyond(logs[:, :1], torch.tensor([[6]]))
    torch.testing.assert_close(alone, logs[:, :1])


def test_cached_features_say_what_pixels_do() -> None:
    network, given = LooksNet(7, 2, 0.25).eval(), looks(2, 3, 2, 7)
    cached = LookFeatures(network)(*given)
    torch.testing.assert_close(CombineLooks(network)(cached, *given[1:]), network(*given))
    assert not any(one.requires_grad for one in network.alone.parameters())


def test_untold_where_on_the_ladder_looks_were_they_say_the_same_moves() -> None:
    network = LooksNet(7, 1, 0.25).eval()
    torch.nn.init.normal_(network.head.weight, 0, 0.3)
    pixels, _, where, _ = looks(1, 2, 1, 7)
    here, farther = (network(pixels, torch.tensor([at]), where, torch.zeros(1, 2)) for at in ([2, 4], [1, 3]))
    torch.testing.assert_close(here[:, 3:7], farther[:, 2:6], atol=1e-4, rtol=1e-4)
