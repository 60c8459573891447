"""Posterior and DepthPrior: probabilities against plain loops, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from dioptre.errors import InputError, NetworkError
from dioptre.posterior import BEYOND, Decision, DepthPrior, Posterior, sides_of

N = 6


def some_logits(batch: int = 5, positions: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 2.0, (batch, positions))


def of_probabilities(probabilities: list[float], decision: Decision = Decision.MEDIAN) -> Posterior:
    with np.errstate(divide="ignore"):
        return Posterior(np.log(np.array([probabilities])), decision)


# Normalisation


@pytest.mark.parametrize("width", [N, N + 2])
@pytest.mark.parametrize("offset", [0.0, 500.0, -2000.0])
def test_logits_become_probabilities_that_sum_to_one(width: int, offset: float) -> None:
    logits = some_logits(positions=width)
    found = Posterior.of_logits(logits + offset, N)
    assert found.logs.shape == (5, N + 2)
    assert found.positions == N
    exact = [[math.exp(v) / sum(math.exp(w) for w in row) for v in row] for row in logits]
    whole = np.exp(found.logs)
    np.testing.assert_allclose(whole[:, 1:-1] if width == N else whole, exact, rtol=1e-9)
    np.testing.assert_allclose(found.ladder.sum(axis=1) + found.beyond_far + found.beyond_near, 1)


def test_as_many_logits_as_positions_say_that_nothing_is_beyond() -> None:
    found = Posterior.of_logits(some_logits(), N)
    assert (found.beyond_far == 0).all()
    assert (found.beyond_near == 0).all()


def test_two_more_logits_are_the_ends() -> None:
    logits = np.log([[0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.0625, 0.2375]])
    found = Posterior.of_logits(logits, N)
    assert found.beyond_far[0] == pytest.approx(0.1)
    assert found.beyond_near[0] == pytest.approx(0.2375)
    np.testing.assert_allclose(found.ladder, [[0.2, 0.1, 0.1, 0.1, 0.1, 0.0625]])


def test_half_precision_is_widened() -> None:
    found = Posterior.of_logits(some_logits().astype(np.float32), N)
    assert found.logs.dtype == np.float64


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_logit_that_is_no_number_is_the_networks_error(bad: float) -> None:
    logits = some_logits()
    logits[2, 3] = bad
    with pytest.raises(NetworkError, match="the network's answer is not finite"):
        Posterior.of_logits(logits, N)


def test_nothing_but_minus_infinity_is_no_answer() -> None:
    with pytest.raises(NetworkError, match="the network's answer is not finite"):
        Posterior.of_logits(np.full((1, N), -np.inf), N)


def test_minus_infinity_is_probability_zero() -> None:
    logits = np.zeros((1, N))
    logits[0, 4] = -np.inf
    np.testing.assert_allclose(Posterior.of_logits(logits, N).ladder, [[0.2, 0.2, 0.2, 0.2, 0.0, 0.2]])


@pytest.mark.parametrize("width", [1, N - 1, N + 1, N + 3])
def test_another_number_of_logits_is_the_networks_error(width: int) -> None:
    with pytest.raises(NetworkError, match=f"has {width} numbers, not 6 or 8"):
        Posterior.of_logits(np.zeros((2, width)), N)


def test_probabilities_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"sum to 1, not to 0\.5"):
        Posterior(np.log(np.array([[0.25, 0.5, 0.25], [0.25, 0.125, 0.125]])))
    with pytest.raises(NetworkError, match="sum to 1, not to nan"):
        Posterior(np.array([[np.nan, 0.0, 0.0]]))
    with pytest.raises(InputError, match=r"\(batch, n \+ 2\), not of shape \(1, 2\)"):
        Posterior(np.log(np.array([[0.5, 0.5]])))


def test_a_scene_is_one_of_the_batch() -> None:
    found = Posterior.of_logits(some_logits(), N, Decision.MODE)
    np.testing.assert_array_equal(found.scene(3).logs, found.logs[3:4])
    assert found.scene(3).decision is Decision.MODE


# How it is read


def slow_expected_errors(probabilities: np.ndarray) -> list[float]:
    places = range(len(probabilities))
    return [sum(p * abs(at - answer) for at, p in enumerate(probabilities)) for answer in places]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("width", [N, N + 2])
def test_mode_and_median_are_those_of_plain_loops(seed: int, width: int) -> None:
    logits = some_logits(positions=width, seed=seed)
    if width == N + 2:
        logits[:, [0, -1]] -= 4.0  # the focus is hardly beyond
    for row in logits:
        one = row[None]
        ladder = np.exp(row[1:-1] if width == N + 2 else row)
        ladder /= ladder.sum()
        mode = Posterior.of_logits(one, N, Decision.MODE)
        assert int(mode.scores()[0].argmax()) == max(range(N), key=lambda at, p=ladder: p[at])
        np.testing.assert_allclose(mode.scores()[0], np.log(ladder))
        median = Posterior.of_logits(one, N, Decision.MEDIAN)
        np.testing.assert_allclose(median.expected_error()[0], slow_expected_errors(ladder))
        side = likeliest_side_of(ladder)
        np.testing.assert_allclose(-median.scores()[0], slow_expected_errors(side))
        upto, at = side[0], 0
        while upto < 0.5:
            at += 1
            upto += side[at]
        assert int(median.scores()[0].argmax()) == at


def likeliest_side_of(ladder: np.ndarray) -> np.ndarray:
    """Returns what is left of probabilities when all other sides of focus are impossible."""
    first, last = max(sides_of(ladder), key=lambda ends: sum(ladder[ends[0] : ends[1]]))
    side = np.array([p if first <= at < last else 0.0 for at, p in enumerate(ladder)])
    return side / side.sum()


def test_a_median_has_the_least_expected_error() -> None:
    found = of_probabilities([0.0, 0.2, 0.25, 0.15, 0.2, 0.2, 0.0])
    np.testing.assert_allclose(found.scores(), [[-1.95, -1.35, -1.25, -1.45, -2.05]])


def test_of_two_sides_the_likelier_is_answered_and_no_mean_between() -> None:
    two = np.zeros(51)
    two[[1, 2, 3]], two[[47, 48, 49]] = 0.39 / 3, 0.61 / 3
    found = of_probabilities(two.tolist())
    assert sides_of(found.reachable[0]) == [(0, 3), (3, 49)]
    assert found.scores()[0].argmax() == 47
    assert found.expected_error()[0].argmin() == 46  # the median of both
    two[20] = 0.45
    assert of_probabilities((two / two.sum()).tolist()).scores()[0].argmax() == 47


def test_what_is_near_or_hardly_lower_between_is_one_side() -> None:
    places = np.arange(49)

    def bells(*centres: int, width: float = 2.0) -> list[tuple[int, int]]:
        return sides_of(sum(np.exp(-0.5 * ((places - at) / width) ** 2) for at in centres) / 20)

    assert bells(20) == bells(20, 24) == bells(20, 26, width=3.0) == [(0, 49)]
    assert bells(10, 40) == [(0, 25), (25, 49)]
    assert len(bells(5, 24, 44)) == 3


@pytest.mark.parametrize("decision", list(Decision))
def test_what_is_clearly_beyond_is_held_at_the_end(decision: Decision) -> None:
    near = of_probabilities([0.0, 0.05, 0.0, 0.0, 0.0, 0.0, 0.95], decision)
    assert near.is_beyond.all()
    assert near.scores().argmax() == 4
    far = of_probabilities([0.95, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0], decision)
    assert far.scores().argmax() == 0
    np.testing.assert_allclose(far.reachable, [[0.95, 0.0, 0.0, 0.0, 0.05]])


def test_what_is_reachable_sums_to_one() -> None:
    found = Posterior.of_logits(some_logits(50, N + 2, seed=1), N)
    np.testing.assert_allclose(found.reachable.sum(axis=1), 1)


# Priors


@pytest.mark.parametrize("width", [N, N + 2])
def test_weighing_is_bayes_rule(width: int) -> None:
    prior = DepthPrior.of_table((3.0, 0.0, 2.0, 1.0, 0.5, 0.25))
    before = Posterior.of_logits(some_logits(positions=width), N, Decision.MODE)
    after = before.weigh(prior)
    weights = [3.0, 3.0, 0.0, 2.0, 1.0, 0.5, 0.25, 0.25]  # what is beyond an end is weighed as the end
    for old, new in zip(np.exp(before.logs), np.exp(after.logs), strict=True):
        joint = [w * p for w, p in zip(weights, old, strict=True)]
        np.testing.assert_allclose(new, [j / sum(joint) for j in joint])
    assert after.decision is Decision.MODE


def test_an_even_prior_changes_nothing() -> None:
    before = Posterior.of_logits(some_logits(), N)
    assert before.weigh(DepthPrior.even()) is before
    again = before.weigh(DepthPrior.of_table((7.0,) * N))
    np.testing.assert_allclose(again.ladder, before.ladder)


def test_a_prior_that_rules_out_what_was_seen_is_refused() -> None:
    seen = of_probabilities([0.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="rules out every position"):
        seen.weigh(DepthPrior.of_table((0.0, 1.0, 1.0)))


def test_far_things_are_the_more_likely_the_farther() -> None:
    weights = DepthPrior.far().weights(4)
    np.testing.assert_allclose(weights, np.array([7, 5, 3, 1]) / 16)
    np.testing.assert_allclose(DepthPrior.even().weights(4), 0.25)


def test_a_table_is_for_its_own_ladder() -> None:
    with pytest.raises(InputError, match="the prior has 3 weights, but the grid has 6 positions"):
        DepthPrior.of_table((1.0, 2.0, 3.0)).weights(N)


@pytest.mark.parametrize("word", ["even", "far"])
def test_words_are_priors(word: str) -> None:
    assert DepthPrior.parse(word) == DepthPrior(word)
    assert DepthPrior.parse(word).is_even == (word == "even")


@pytest.mark.parametrize("text", ["3,2,1", "3, 2, 1", "3 2 1", "3.0,2e0,1"])
def test_a_list_is_a_prior(text: str) -> None:
    assert DepthPrior.parse(text) == DepthPrior.of_table((3.0, 2.0, 1.0))


def test_a_long_list_is_not_taken_for_the_name_of_a_file() -> None:
    assert DepthPrior.parse(",".join(["0.02040816"] * 49)) == DepthPrior.of_table((0.02040816,) * 49)
    assert len(DepthPrior.parse(",".join(["0.02040816"] * 900)).table) == 900


@pytest.mark.parametrize("text", ["3 2\n1\n", "3,2,1", "3\n2\n1"])
def test_a_file_is_a_prior(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prior.txt"
    file.write_text(text, encoding="utf-8")
    assert DepthPrior.parse(str(file)) == DepthPrior.of_table((3.0, 2.0, 1.0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("near", "not 'near'"),
        ("", "not ''"),
        ("3,2,x", "not '3,2,x'"),
        ("1,-2", "0 or more"),
        ("1,nan", "0 or more"),
        ("1,inf", "finite"),
        ("1e308,1e308", "finite"),
        ("0,0", "not all 0"),
        ("no/such/file.txt", "not 'no/such/file.txt'"),
    ],
)
def test_what_is_no_prior_is_said(text: str, why: str) -> None:
    with pytest.raises(InputError, match=f"a prior is even, far, a list of weights .*{why}"):
        DepthPrior.parse(text)


def test_a_file_that_is_no_text_is_no_prior(tmp_path: Path) -> None:
    (tmp_path / "prior.bin").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InputError, match=r"a prior is even, far, .*prior\.bin"):
        DepthPrior.parse(str(tmp_path / "prior.bin"))
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match=r"a prior is even, far, .*empty\.txt"):
        DepthPrior.parse(str(tmp_path / "empty.txt"))


def test_a_prior_checks_itself() -> None:
    with pytest.raises(InputError, match="not 'near'"):
        DepthPrior("near")
    with pytest.raises(InputError, match="a prior that is a table has weights, and no other has"):
        DepthPrior("table")
    with pytest.raises(InputError, match="a prior that is a table has weights, and no other has"):
        DepthPrior("far", (1.0, 2.0))
    with pytest.raises(InputError, match="finite, 0 or more, and not all 0"):
        DepthPrior.of_table((0.0, 0.0))


class Fixed:
    """A generator that says what it is told."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def drawn(prior: DepthPrior, along: float) -> float:
    draw = DepthPrior.draw
    return getattr(draw, "__wrapped__", draw)(prior, Fixed(along))


@pytest.mark.parametrize("along", [0.0, 0.1, 0.5, 0.9, 0.999999])
def test_draws_invert_the_distribution(along: float) -> None:
    assert drawn(DepthPrior.even(), along) == along
    assert drawn(DepthPrior.far(), along) == 1 - math.sqrt(1 - along)
    assert drawn(DepthPrior.of_table((1.0, 1.0, 1.0)), along) == pytest.approx(along)


@pytest.mark.parametrize(
    "prior", [DepthPrior.even(), DepthPrior.far(), DepthPrior.of_table((1.0, 0.0, 5.0, 2.0))]
)
def test_draws_fall_on_positions_as_often_as_their_weights(prior: DepthPrior) -> None:
    rng, draws = np.random.default_rng(0), 20_000
    places = np.array([prior.draw(rng) for _ in range(draws)])
    assert places.min() >= 0
    assert places.max() <= 1
    counts = np.histogram(places, bins=4, range=(0.0, 1.0))[0] / draws
    np.testing.assert_allclose(counts, prior.weights(4), atol=0.012)


# An answer where a part lies beyond the grid


@pytest.mark.parametrize("decision", list(Decision))
def test_an_answer_is_on_the_ladder_until_the_focus_is_clearly_beyond(decision: Decision) -> None:
    side = of_probabilities(
        [0.0, 0.0, 0.3, 0.05, 0.0, 0.0, 0.65], decision
    )  # one green look near the near end
    assert side.scores().argmax() == 1
    clear = of_probabilities([0.0, 0.0, 0.03, 0.02, 0.0, 0.0, 0.95], decision)
    assert clear.beyond_near[0] >= BEYOND
    assert clear.scores().argmax() == 4
    nowhere = of_probabilities([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], decision)
    assert nowhere.scores().argmax() in (0, 4)


def test_what_is_beyond_counts_for_the_end_only_if_it_is_believed() -> None:
    near = of_probabilities([0.0, 0.0, 0.3, 0.1, 0.0, 0.0, 0.6], Decision.MEDIAN)
    np.testing.assert_allclose(near.reachable, [[0.0, 0.75, 0.25, 0.0, 0.0]])
    far = of_probabilities([0.92, 0.0, 0.08, 0.0, 0.0, 0.0, 0.0], Decision.MEDIAN)
    np.testing.assert_allclose(far.reachable, [[0.92, 0.08, 0.0, 0.0, 0.0]])
