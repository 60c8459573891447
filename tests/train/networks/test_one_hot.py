import pytest
import torch
from torch import nn
from torch.nn import functional

from dioptre.train import encode
from dioptre.train.networks.move import MoveNet
from dioptre.train.networks.one_hot import (
    AuxiliaryMoves,
    OneHotNet,
    SparseStem,
    initialise_as_contrast_measure,
    share_stem,
)
from tests.train.conftest import looks


@pytest.mark.parametrize("slices", [1, 2, 3])
@pytest.mark.parametrize("views", [1, 2])
def test_the_sparse_stem_equals_the_dense_one(slices: int, views: int) -> None:
    stem = SparseStem(9, views, 8)
    nn.init.normal_(stem.weight)
    pixels, indices, *_ = looks(4, slices, views, 9)
    indices[0] = indices[0, 0]  # the same slice seen again
    pixels[0] = pixels[0, :1]
    sparse = stem(pixels, indices)
    (sparse_gradient,) = torch.autograd.grad(sparse.square().sum(), stem.weight)
    dense = functional.conv2d(encode.one_hot(pixels, indices, 9), stem.weight, stride=2, padding=1)
    (dense_gradient,) = torch.autograd.grad(dense.square().sum(), stem.weight)
    torch.testing.assert_close(sparse, dense, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(sparse_gradient, dense_gradient, atol=1e-3, rtol=1e-5)
    unseen = sorted(set(range(9)) - set(indices.flatten().tolist()))
    assert sparse_gradient.view(8, 9, views, 3, 3)[:, unseen].abs().max() == 0


def test_a_full_stack_goes_through_the_same_weights() -> None:
    stem = SparseStem(5, 2, 8)
    nn.init.normal_(stem.weight)
    pixels = torch.rand(2, 5, 2, 16, 16)
    order = torch.arange(5).expand(2, 5)
    parts = sum(stem(pixels[:, k : k + 1], order[:, k : k + 1]) for k in range(5))
    torch.testing.assert_close(stem(pixels, order), parts, atol=1e-4, rtol=1e-5)


def test_all_positions_can_begin_alike_but_for_a_code() -> None:
    network = OneHotNet(7, 2, 0.25)
    share_stem(network)
    pixels = torch.rand(1, 1, 2, 16, 16)
    contrast = [network.stem(pixels - pixels.mean(), torch.tensor([[k]])) for k in (0, 5)]
    codes = [network.stem(torch.ones(1, 1, 2, 16, 16), torch.tensor([[k]]))[0, :, 4, 4] for k in range(7)]
    half = len(network.stem.weight) // 2
    torch.testing.assert_close(contrast[0][:, half:], contrast[1][:, half:])
    torch.testing.assert_close(codes[0][half:], torch.zeros(half), atol=1e-5, rtol=0)
    alike = network.stem(pixels[:, :, :1].expand_as(pixels), torch.tensor([[3]]))
    assert alike[:, half:].abs().max() < 1e-4
    apart = torch.cdist(torch.stack(codes), torch.stack(codes)) + torch.eye(7)
    assert apart.min() > 0.3
    with pytest.raises(ValueError, match="MoveNet"):
        share_stem(MoveNet(7, 2, 0.25))


@pytest.mark.parametrize("views", [1, 2])
def test_a_network_for_whole_stacks_begins_as_a_measure_of_contrast(views: int) -> None:
    torch.manual_seed(0)
    network = OneHotNet(8, views, 0.5).eval()
    initialise_as_contrast_measure(network)
    stacks = torch.ones(8, 8, views, 64, 64)
    sharp = torch.rand(views, 64, 64)
    stacks[torch.arange(8), torch.arange(8)] = sharp  # each stack at another position
    with torch.no_grad():
        stem = network.after_stem(network.stem(stacks, torch.arange(8).expand(8, 8)))
        answer = network.blocks(stem)[:, :8].mean(dim=(2, 3))  # eight pairs of channels, folded into one each
    assert answer.argmax(dim=1).tolist() == list(range(8))
    assert (answer.diag() > 1.4 * (answer - answer.diag().diag()).max(dim=1).values).all()
    flat = network.stem(torch.ones(1, 8, views, 32, 32), torch.arange(8)[None])
    assert flat[:, :, 1:-1, 1:-1].abs().max() < 1e-5
    with pytest.raises(ValueError, match="MoveNet"):
        initialise_as_contrast_measure(MoveNet(7, 2, 0.25))


def test_an_auxiliary_head_tells_moves_as_positions() -> None:
    network = OneHotNet(7, 2, 0.25)
    learner, given = AuxiliaryMoves(network).eval(), looks(3, 2, 2, 7)
    with torch.no_grad():
        heads = learner(*given)
        moves = learner.moves(network.features(*given[:2]))
    torch.testing.assert_close(heads[:, 0], network(*given))
    for logits, row, k in zip(heads[:, 1], moves, given[1][:, -1], strict=True):
        torch.testing.assert_close(logits, row[6 - k : 13 - k])
