import pytest
import torch

from dioptre.train import encode


def test_a_normalised_look_knows_nothing_of_the_light() -> None:
    pixels = torch.rand(2, 3, 2, 8, 8) * 0.2 + 0.1
    torch.testing.assert_close(encode.normalise_looks(pixels), encode.normalise_looks(pixels * 3))
    assert encode.normalise_looks(pixels).mean(dim=(2, 3, 4)).flatten().tolist() == pytest.approx([1] * 6)


def test_black_stays_finite() -> None:
    assert torch.isfinite(encode.normalise_looks(torch.zeros(1, 1, 2, 8, 8))).all()


def test_one_hot_is_zero_where_nothing_was_seen() -> None:
    pixels = torch.rand(2, 2, 2, 4, 4)
    dense = encode.one_hot(pixels, torch.tensor([[3, 0], [4, 1]]), 5).view(2, 5, 2, 4, 4)
    torch.testing.assert_close(dense[0, 3], pixels[0, 0])
    torch.testing.assert_close(dense[1, 1], pixels[1, 1])
    assert dense[0, [1, 2, 4]].abs().max() == 0


def test_a_position_counts_once() -> None:
    first = encode.first_of_each(torch.tensor([[3, 5, 3, 3], [1, 2, 2, 1]]))
    assert first.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_planes_are_sum_and_difference() -> None:
    pixels = torch.rand(3, 2, 4, 4)
    planes = encode.view_planes(pixels)
    left = planes[:, 0] + 1 + planes[:, 1] / (2 * encode.DIFFERENCE_GAIN)
    torch.testing.assert_close(left, pixels[:, 0])
    assert encode.view_planes(pixels[:, :1]).shape == (3, 1, 4, 4)


def test_constant_planes_tell_where() -> None:
    where = torch.tensor([[0.5, -1.0], [0.0, 0.2]])
    planes = encode.constant_planes(torch.tensor([0.0, 1.0]), where, torch.zeros(2, 5, 2, 2))
    assert planes[0, :, 1, 1].tolist() == [-1.0, 0.5, -1.0]
    assert planes[1, :, 0, 1].tolist() == pytest.approx([1.0, 0.0, 0.2])


def test_moves_and_positions_are_inverse() -> None:
    scores, at = torch.rand(4, 7), torch.tensor([0, 3, 6, 2])
    relative = encode.scores_to_relative(scores, at, 7)
    torch.testing.assert_close(encode.relative_to_scores(relative, at, 7), scores)
    assert torch.isinf(relative[0, :6]).all()


def test_no_move_means_here() -> None:
    relative = torch.zeros(1, 13)
    relative[0, 6] = 1.0
    assert encode.relative_to_scores(relative, torch.tensor([4]), 7).argmax().item() == 4
    nearer = torch.zeros(1, 13)
    nearer[0, 8] = 1.0
    assert encode.relative_to_scores(nearer, torch.tensor([4]), 7).argmax().item() == 6


def test_correlation_is_highest_at_the_shift() -> None:
    torch.manual_seed(0)
    first = torch.rand(2, 5, 30) - 0.5
    second = torch.roll(first, 3, dims=2)
    found = encode.row_correlation(first, second, 6)
    energy = (first.square().sum((1, 2)) * second.square().sum((1, 2))).sqrt()
    for at, lag in enumerate(range(-6, 7)):
        pairs = [(first[:, :, x] * second[:, :, x + lag]).sum(1) for x in range(30) if 0 <= x + lag < 30]
        torch.testing.assert_close(found[:, at], sum(pairs) / energy, atol=1e-4, rtol=1e-4)
    assert (found.argmax(dim=1) - 6).tolist() == [3, 3]
    torch.testing.assert_close(encode.row_correlation(first, first, 0), torch.ones(2, 1), atol=1e-4, rtol=0)


def test_likeness_tells_disparity_and_blur() -> None:
    torch.manual_seed(0)
    sharp = torch.rand(1, 1, 40, 40)
    soft = torch.nn.functional.avg_pool2d(torch.rand(1, 1, 48, 48), 9, 1)
    views = torch.cat([sharp, torch.roll(sharp, -5, dims=3)], dim=1)
    disparity = encode.likeness(views)[0, -(2 * encode.REACH + 1) :]
    assert disparity.argmax().item() - encode.REACH == -5
    nearest = [encode.likeness(one)[0, 0].item() for one in (sharp, soft)]
    assert nearest[0] < 0.3 < nearest[1]
