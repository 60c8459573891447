import torch

from dioptre.train import encode
from dioptre.train.networks.move import MoveNet
from tests.train.conftest import looks


def test_a_patch_of_two_depths_is_that_of_the_larger_one() -> None:
    network = MoveNet(7, 2, 0.25).eval()
    network.weight.weight.data.zero_()
    seen = torch.zeros(1, 5, network.encoder.features)
    seen[0, :2, 0] = seen[0, 2:, 1] = 1  # two parts see one thing, three another
    network.head[1].weight.data.zero_()
    network.head[1].weight.data[7, 0] = 50  # one position nearer
    network.head[1].weight.data[3, 1] = 50  # three farther
    moves = network.move_logs(seen)
    found = encode.moves_to_positions(moves, torch.tensor([4]), 7).exp()
    torch.testing.assert_close(found[0, [6, 2]], torch.tensor([0.4, 0.6]))
    ends = encode.moves_to_positions(moves, torch.tensor([6]), 7).exp()
    torch.testing.assert_close(ends[0, [8, 4]], torch.tensor([0.4, 0.6]))  # from the near end, one is beyond


def test_what_is_said_sums_to_one_wherever_the_lens_is() -> None:
    network = MoveNet(7, 2, 0.25).eval()
    pixels, _, where, told = looks(7, 1, 2, 7)
    logs = network(pixels, torch.arange(7)[:, None], where, told)
    torch.testing.assert_close(logs.exp().sum(dim=1), torch.ones(7))
    assert torch.isfinite(logs).all()
    assert logs[6, 0] == logs[0, -1] == encode.FLOOR  # no move leads there


def test_given_the_ladder_a_part_says_what_it_said_before_it_knew_of_beyond() -> None:
    network = MoveNet(7, 2, 0.25).eval()
    features = torch.rand(3, 1, network.encoder.features)
    indices = torch.tensor([0, 4, 6])
    logits = network.head(features)[:, 0]
    only = torch.stack([row[6 - k : 13 - k] for row, k in zip(logits, indices, strict=True)])
    found = encode.moves_to_positions(network.move_logs(features), indices, 7)[:, 1:-1]
    torch.testing.assert_close(torch.softmax(found, dim=1), torch.softmax(only, dim=1))


def test_green_means_the_same_laid_on_its_side() -> None:
    network = MoveNet(7, 1, 0.25).eval()
    pixels, indices, where, told = looks(3, 1, 1, 7)
    laid = network(pixels.transpose(3, 4), indices, where.flip(1), told)
    torch.testing.assert_close(laid, network(pixels, indices, where, told), atol=1e-5, rtol=1e-4)
    elsewhere = network(pixels, indices, where.flip(1), told)
    assert (network(pixels, indices, where, told) - elsewhere).abs().max() > 1e-4


def test_what_it_is_not_told_does_not_matter() -> None:
    network = MoveNet(7, 1, 0.25).eval()
    pixels, _, where, told = looks(1, 1, 1, 7)
    for column, others in ((0, (torch.tensor([[3]]), where)), (1, (torch.tensor([[2]]), -where))):
        untold = told.clone()
        untold[:, column] = 0
        answers = [
            network.part_features(pixels[:, 0], k[:, 0], place, flags)
            for flags in (told, untold)
            for k, place in ((torch.tensor([[2]]), where), others)
        ]
        assert (answers[0] - answers[1]).abs().max() > 1e-4
        torch.testing.assert_close(answers[2], answers[3])
