import math

import pytest
import torch
from torch.nn import functional

from dioptre.train import encode


def test_a_normalised_look_is_contrast() -> None:
    pixels = torch.rand(2, 3, 2, 8, 8) * 0.2 + 0.1
    looks = encode.normalise_looks(pixels)
    assert looks.mean(dim=(2, 3, 4)).flatten().tolist() == pytest.approx([1] * 6)
    bright, dark = (encode.normalise_looks(gain * pixels) for gain in (3.0, 0.01))
    torch.testing.assert_close(bright, looks, atol=0.05 * encode.CONTRAST_GAIN, rtol=0)
    assert dark.std() < 0.5 * looks.std()


def test_brightness_tells_how_dark_and_how_flat() -> None:
    pixels = torch.full((2, 2, 8, 8), 0.2)
    pixels[1, :, ::2] = 0.4
    assert encode.brightness(pixels).exp().flatten().tolist() == pytest.approx(
        [0.201, 0.001, 0.301, 0.1], rel=0.01
    )


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


def test_planes_are_green_and_difference_folded() -> None:
    pixels = torch.rand(3, 2, 4, 4)
    planes = functional.conv2d(pixels, encode.folding(2, 2), stride=2)
    green, difference = functional.pixel_shuffle(planes, 2).unbind(dim=1)
    torch.testing.assert_close(green, pixels.mean(dim=1))
    torch.testing.assert_close(difference, encode.DIFFERENCE_GAIN * (pixels[:, 0] - pixels[:, 1]))
    alone = functional.conv2d(pixels[:, :1], encode.folding(1, 2), stride=2)
    torch.testing.assert_close(functional.pixel_shuffle(alone, 2), pixels[:, :1])


def test_constant_planes_tell_where() -> None:
    where = torch.tensor([[0.5, -1.0], [0.0, 0.2]])
    light = torch.tensor([[-1.0, -2.0], [0.0, 0.0]])
    position, told = torch.tensor([0.0, 1.0]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    planes = encode.constant_planes(position, where, told, light, torch.zeros(2, 8, 2, 2))
    assert planes[0, :, 1, 1].tolist() == pytest.approx([-1.0, 0.5, -1.0, 0.6, 0.2, 1.0, 1.0])
    assert planes[1, :, 0, 1].tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize("k", range(7))
def test_moves_become_positions_as_a_slow_loop_says(k: int) -> None:
    moves = torch.log_softmax(torch.randn(1, 13), dim=1)
    expected = [0.0] * 9
    for move, log in enumerate(moves[0].tolist(), -6):
        expected[min(max(k + move, -1), 7) + 1] += math.exp(log)
    found = encode.moves_to_positions(moves, torch.tensor([k]), 7)[0].exp()
    torch.testing.assert_close(found, torch.tensor(expected))


def test_where_no_move_leads_there_is_a_floor_and_no_infinity() -> None:
    moves = torch.log_softmax(torch.zeros(2, 13), dim=1)
    found = encode.moves_to_positions(moves, torch.tensor([0, 6]), 7)
    assert found[0, 0] == pytest.approx(math.log(6 / 13))
    assert found[0, -1] == found[1, 0] == encode.FLOOR


def test_no_move_means_here() -> None:
    moves = torch.zeros(1, 13)
    moves[0, 6] = 1.0
    assert encode.moves_to_positions(moves, torch.tensor([4]), 7)[0, 1:-1].argmax().item() == 4
    nearer = torch.zeros(1, 13)
    nearer[0, 8] = 1.0
    assert encode.moves_to_positions(nearer, torch.tensor([4]), 7)[0, 1:-1].argmax().item() == 6
