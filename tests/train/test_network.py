import pytest
import torch
from torch import nn
from torch.nn import functional

from dioptre.train import encode
from dioptre.train.network import (
    PART,
    InvertedResidual,
    LooksNet,
    MoveNet,
    OneHotNet,
    SparseStem,
    answers,
    carry_contrast,
    multiply_adds,
    scale_channels,
    seeing_both_as_green,
    seeing_green_twice,
    share_stem,
)


def looks(batch: int, slices: int, views: int, positions: int, size: int = 32) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    indices = torch.stack([torch.randperm(positions)[:slices] for _ in range(batch)])
    return torch.rand(batch, slices, views, size, size), indices, torch.rand(batch, 2) * 2 - 1


def parameters(network: nn.Module) -> int:
    return sum(one.numel() for one in network.parameters())


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


@pytest.mark.parametrize("slices", [1, 2, 3])
@pytest.mark.parametrize("views", [1, 2])
def test_the_sparse_stem_equals_the_dense_one(slices: int, views: int) -> None:
    stem = SparseStem(9, views, 8)
    nn.init.normal_(stem.weight)
    pixels, indices, _ = looks(4, slices, views, 9)
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
    carry_contrast(network)
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
        carry_contrast(MoveNet(7, 2, 0.25))


@pytest.mark.parametrize("stride", [1, 2])
def test_a_block_can_begin_by_handing_on(stride: int) -> None:
    block = InvertedResidual(8, 16, stride, 6).eval()
    block.hand_on()
    x = torch.randn(2, 8, 16, 16).clamp(-6, 6)
    wanted = x if stride == 1 else functional.avg_pool2d(x, 3, 2, 1)
    torch.testing.assert_close(block(x)[:, :8], wanted, atol=1e-3, rtol=1e-3)
    residual = InvertedResidual(8, 8, 1, 6).eval()
    residual.hand_on()
    torch.testing.assert_close(residual(x), x)


def seen_by(
    network: OneHotNet | MoveNet, pixels: torch.Tensor, indices: torch.Tensor, where: torch.Tensor
) -> torch.Tensor:
    """Returns what a network sees in looks as they are."""
    if isinstance(network, OneHotNet):
        return network(pixels, indices, where)
    return network.encoder(pixels[:, 0], indices[:, 0] / (network.positions - 1), where)


def test_a_network_for_green_can_begin_with_one_for_two_views() -> None:
    pixels, indices, where = looks(3, 1, 1, 7)
    for kind in (OneHotNet, MoveNet):
        torch.manual_seed(1)
        two, one = kind(7, 2, 0.25).eval(), kind(7, 1, 0.25).eval()
        one.load_state_dict(seeing_green_twice(two.state_dict(), one.state_dict()))
        both = pixels.expand(-1, -1, 2, -1, -1)
        torch.testing.assert_close(seen_by(one, pixels, indices, where), seen_by(two, both, indices, where))
    network, own = OneHotNet(7, 2, 0.25), OneHotNet(7, 1, 0.25)
    share_stem(network)
    begun = seeing_green_twice(network.state_dict(), own.state_dict())["stem.weight"]
    kept = (begun == own.stem.weight).flatten(1).all(dim=1)
    assert kept.tolist() == [False] * 4 + [True] * 4  # the second half were differences


def test_a_network_for_two_views_can_begin_with_one_for_green() -> None:
    pixels, indices, where = looks(3, 1, 1, 7)
    both = pixels.expand(-1, -1, 2, -1, -1)
    for kind in (OneHotNet, MoveNet):
        torch.manual_seed(1)
        two, one = kind(7, 2, 0.25).eval(), kind(7, 1, 0.25).eval()
        two.load_state_dict(seeing_both_as_green(one.state_dict(), two.state_dict()))
        torch.testing.assert_close(seen_by(two, both, indices, where), seen_by(one, pixels, indices, where))


@pytest.mark.parametrize("network", [OneHotNet(7, 2, 0.25), MoveNet(7, 2, 0.25), LooksNet(7, 2, 0.25)])
def test_a_batch_is_so_many_of_one(network: nn.Module) -> None:
    network.eval()
    count = PART + 2  # more than is seen at a time
    pixels, indices, where = looks(count, 1, 2, 7)
    together = network(pixels, indices, where)
    assert together.shape == (count, 7)
    for i in (0, PART, PART + 1):
        alone = network(pixels[i : i + 1], indices[i : i + 1], where[i : i + 1])
        torch.testing.assert_close(together[i : i + 1], alone, atol=1e-5, rtol=1e-4)


def test_the_order_of_looks_does_not_matter() -> None:
    network = LooksNet(7, 1, 0.25).eval()
    pixels, indices, where = looks(2, 4, 1, 7)
    order = torch.tensor([2, 0, 3, 1])
    again = network(pixels[:, order], indices[:, order], where)
    torch.testing.assert_close(network(pixels, indices, where), again, atol=1e-5, rtol=1e-4)


def test_a_patch_of_two_depths_is_that_of_the_larger_one() -> None:
    network = MoveNet(7, 2, 0.25).eval()
    network.weight.weight.data.zero_()
    seen = torch.zeros(1, 5, network.encoder.features)
    seen[0, :2, 0] = seen[0, 2:, 1] = 1  # two parts see one thing, three another
    network.head[1].weight.data.zero_()
    network.head[1].weight.data[7, 0] = 50  # one position nearer
    network.head[1].weight.data[3, 1] = 50  # three farther
    found = network.believe(seen, torch.tensor([4])).exp()
    torch.testing.assert_close(found[0, [5, 1]], torch.tensor([0.4, 0.6]))


def test_one_look_begins_as_it_is_alone() -> None:
    network = LooksNet(7, 2, 0.25).eval()
    given = looks(2, 1, 2, 7)
    torch.testing.assert_close(network(*given), network.alone(*given))


def test_the_papers_network_answers_with_the_likeliest_position_and_ours_with_the_median() -> None:
    scores = torch.tensor([[0.4, 0.01, 0.01, 0.29, 0.29]]).log()
    assert answers(OneHotNet(5, 1, 0.25), scores).tolist() == [0]
    assert answers(MoveNet(5, 1, 0.25), scores).tolist() == [3]


def test_green_means_the_same_laid_on_its_side() -> None:
    network = MoveNet(7, 1, 0.25).eval()
    pixels, indices, where = looks(3, 1, 1, 7)
    laid = network(pixels.transpose(3, 4), indices, where.flip(1))
    torch.testing.assert_close(laid, network(pixels, indices, where), atol=1e-5, rtol=1e-4)
    assert (network(pixels, indices, where) - network(pixels, indices, where.flip(1))).abs().max() > 1e-4
