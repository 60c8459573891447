from pathlib import Path
from typing import Any

import pytest

from dioptre.methods.base import Problem
from dioptre.train.recipe import Earlier, Recipe, learning_rate


def test_the_defaults_are_the_papers_recipe() -> None:
    paper = Recipe()
    assert (paper.learning_rate, paper.beta1, paper.beta2) == (1e-3, 0.5, 0.999)
    assert (paper.batch, paper.steps, paper.width, paper.network) == (128, 20_000, 4.0, "one-hot")
    assert (paper.distance, paper.coefficient, paper.schedule, paper.average) == (
        "squared",
        1.0,
        "constant",
        0,
    )


def test_the_rate_rises_and_falls() -> None:
    recipe = Recipe(schedule="cosine", steps=1000, learning_rate=1.0)
    rates = [learning_rate(recipe, step) for step in range(1000)]
    assert rates[0] < 0.1
    assert max(rates) == pytest.approx(1.0)
    assert rates[-1] < 1e-4
    assert learning_rate(Recipe(), 19_999) == 1e-3


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ({"network": "move", "problem": Problem.STACK_GREEN}, "one look"),
        ({"moves": 1.0, "problem": Problem.STACK_DUAL_PIXEL}, "few looks"),
        ({"moves": 1.0, "network": "move"}, "few looks"),
        ({"steps": 0}, "positive"),
        ({"frozen": True, "network": "move"}, "a network of one look to freeze"),
        ({"frozen": True, "network": "looks", "flips": "rows"}, "patches as they are"),
        ({"flips": "all"}, "on their side"),
        ({"quarters": 1.5}, "from 0 to 1"),
        ({"taught": -0.5}, "from 0 to 1"),
    ],
)
def test_impossible_recipes_are_refused(recipe: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Recipe(**recipe)


@pytest.mark.parametrize(
    ("recipe", "earlier", "reason"),
    [
        (Recipe(network="looks", frozen=True), Earlier(), "--start-from"),
        (Recipe(network="looks", frozen=True, taught=1.0), Earlier(Path("a"), (), Path("b")), "a frozen"),
        (Recipe(taught=0.5), Earlier(), "--teacher and --taught"),
        (Recipe(), Earlier(teacher=Path("a")), "--teacher and --taught"),
    ],
)
def test_a_recipe_needs_the_runs_it_builds_on(recipe: Recipe, earlier: Earlier, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        earlier.check(recipe)
    Earlier(Path("a")).check(Recipe(network="looks", frozen=True))
    Earlier(teacher=Path("a")).check(Recipe(taught=0.5))
