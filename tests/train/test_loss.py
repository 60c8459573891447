import math

import pytest
import torch

from dioptre.train.loss import divergence, soft_labels, with_beyond

# Figures of the spec, computed by hand: exp(-d^2) and exp(-d), normalised over 49 positions.


@pytest.mark.parametrize(
    ("distance", "expected"),
    [("squared", (0.5641, 0.2075, 0.0103, 0.0001)), ("absolute", (0.4621, 0.1700, 0.0625, 0.0230))],
)
def test_labels_fall_with_the_distance(distance: str, expected: tuple[float, ...]) -> None:
    labels = soft_labels(torch.tensor([20.0]), 49, distance)[0]
    for away, value in enumerate(expected):
        assert labels[20 + away].item() == pytest.approx(value, abs=6e-5)
        assert labels[20 - away].item() == pytest.approx(value, abs=6e-5)
    assert labels.sum().item() == pytest.approx(1)


def test_labels_are_whole_at_the_ends() -> None:
    labels = soft_labels(torch.tensor([0.0]), 49)[0]
    assert [round(value, 4) for value in labels[:3].tolist()] == [0.7213, 0.2654, 0.0132]


def test_a_coefficient_sharpens() -> None:
    wide, narrow = (soft_labels(torch.tensor([9.0]), 49, "squared", c)[0, 9] for c in (0.3, 2.0))
    assert wide < soft_labels(torch.tensor([9.0]), 49)[0, 9] < narrow


@pytest.mark.parametrize(
    ("distance", "target", "least"),
    [
        ("squared", 24.0, 1.0714),
        ("squared", 0.0, 0.6457),
        ("absolute", 24.0, 1.6229),
        ("absolute", 0.0, 1.0407),
    ],
)
def test_the_loss_reaches_nought_at_the_entropy_of_its_label(
    distance: str, target: float, least: float
) -> None:
    labels = soft_labels(torch.tensor([target]), 49, distance)
    entropy = -torch.xlogy(labels, labels).sum()
    assert entropy.item() == pytest.approx(least, abs=2e-4)
    assert divergence(labels.clamp_min(1e-30).log(), labels).item() == pytest.approx(0, abs=1e-6)
    chance = divergence(torch.zeros(1, 49), labels).item()
    assert chance == pytest.approx(math.log(49) - least, abs=2e-4)


def test_a_nearer_answer_costs_less() -> None:
    labels = soft_labels(torch.tensor([20.0, 20.0]), 49)
    answers = torch.zeros(2, 49)
    answers[0, 22] = answers[1, 30] = 5.0
    near, far = divergence(answers, labels)
    assert near < far


def test_what_lies_beyond_has_a_label_of_its_own() -> None:
    target = torch.tensor([3.0, -0.5, 6.5, -0.6, 6.6, -9.0])
    labels = soft_labels(target, 7)
    wide = with_beyond(labels, target)
    torch.testing.assert_close(wide[:3, 1:-1], labels[:3])
    assert wide[:3, [0, -1]].abs().max() == 0
    assert wide[3:].tolist() == [[1.0] + [0.0] * 8, [0.0] * 8 + [1.0], [1.0] + [0.0] * 8]
    assert torch.isfinite(divergence(torch.randn(6, 9), wide)).all()
