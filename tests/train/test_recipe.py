import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dioptre.errors import InputError
from dioptre.problem import Problem
from dioptre.train.recipe import BuildsOn, Recipe, learning_rate


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(InputError, match="a seed is 0 or more, not -1"):
        Recipe(seed=-1).check()


def test_the_defaults_are_the_papers_recipe() -> None:
    paper = Recipe()
    assert (paper.learning_rate, paper.beta1, paper.beta2) == (1e-3, 0.5, 0.999)
    assert (paper.batch, paper.steps, paper.width, paper.network) == (128, 20_000, 4.0, "one-hot")
    assert (paper.distance, paper.coefficient, paper.schedule, paper.ema) == (
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
        ({"auxiliary": 1.0, "problem": Problem.STACK_DUAL_PIXEL}, "few looks"),
        ({"auxiliary": 1.0, "network": "move"}, "few looks"),
        ({"shared_stem": True, "network": "move"}, "a stem for each position"),
        ({"steps": 0}, "positive"),
        ({"frozen": True, "network": "move"}, "a network of one look to freeze"),
        ({"frozen": True, "network": "looks", "flips": "rows"}, "patches as they are"),
        ({"flips": "all"}, "on their side"),
        ({"crops": 1.5}, "from 0 to 1"),
        ({"distillation": -0.5}, "from 0 to 1"),
    ],
)
def test_impossible_recipes_are_refused(recipe: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Recipe(**recipe).check()


@pytest.mark.parametrize(
    ("recipe", "builds_on", "reason"),
    [
        (Recipe(network="looks", frozen=True), BuildsOn(), "--start-from"),
        (
            Recipe(network="looks", frozen=True, distillation=1.0),
            BuildsOn(Path("a"), (), Path("b")),
            "a frozen",
        ),
        (Recipe(distillation=0.5), BuildsOn(), "--teacher and --distillation"),
        (Recipe(), BuildsOn(teacher=Path("a")), "--teacher and --distillation"),
    ],
)
def test_a_recipe_needs_the_runs_it_builds_on(recipe: Recipe, builds_on: BuildsOn, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        builds_on.check(recipe)
    BuildsOn(Path("a")).check(Recipe(network="looks", frozen=True))
    BuildsOn(teacher=Path("a")).check(Recipe(distillation=0.5))


def test_a_recipe_is_written_and_read() -> None:
    recipe = Recipe(problem=Problem.STACK_GREEN, ema=0.9, flips="all")
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe


def test_recipes_are_read_without_torch() -> None:
    code = "import sys, dioptre.train.recipe, dioptre.pipeline.recipes; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
