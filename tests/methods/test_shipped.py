"""The networks that come with the package: what they are, and that they have learned something."""

import json
from pathlib import Path

import numpy as np
import pytest

from dioptre.evaluate.predict import follow, leaders_of
from dioptre.methods import METHODS, WEIGHTS, best_index, find_method
from dioptre.methods.base import ANY, WHOLE, Believer
from dioptre.methods.learned import Learned
from dioptre.optics import CameraModel, FocusGrid
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack

LEARNED = [key for key, row in METHODS.items() if isinstance(row.build(), Learned)]
TRUTHS = (3, 12, 20, 28, 37, 46)
STARTS = np.arange(2, 49, 9)


@pytest.fixture(scope="module")
def planes() -> FocalStack:
    """Textured planes at some positions, the lens exact."""
    camera, rng = CameraModel.pixel3(), np.random.default_rng(5)
    stacks = []
    for truth in TRUTHS:
        texture = 0.05 + 0.3 * dead_leaves(184, 184, rng)
        depth = float(camera.grid.dioptres[truth])
        stacks.append(plane_stack(camera, depth, texture, rng, 128, shot=0.3, read=1.0))
    stack = FocalStack.full(np.stack(stacks).astype(np.float32), camera.grid)
    return FocalStack(stack.pixels, stack.indices, stack.grid, np.zeros((len(TRUTHS), 2)))


def error(stack: FocalStack, key: str) -> float:
    """Returns the mean error of a method from all starts, in indices."""
    row = find_method(key)
    truth = np.array(TRUTHS)
    if row.looks == WHOLE:
        return float(np.abs(best_index(row.build().scores(stack)) - truth).mean())
    return float(np.abs(follow(stack, leaders_of(row, max(1, row.looks)), STARTS) - truth[:, None]).mean())


def test_all_files_are_rows_and_small() -> None:
    files = list(WEIGHTS.glob("*.onnx"))
    assert {file.stem for file in files} == set(LEARNED)
    assert sum(file.stat().st_size for file in files) < 25e6


@pytest.mark.parametrize("key", LEARNED)
def test_a_card_says_what_the_row_says(key: str) -> None:
    row, network = METHODS[key], METHODS[key].build()
    assert isinstance(network, Learned)
    assert isinstance(network, Believer)
    card = network.card
    assert (card.problem, card.looks, card.views) == (str(row.problem), row.looks, row.views)
    assert card.decide == ("median" if key.startswith("dioptre-") else "mode")
    one_green_look = row.views == 1 and row.looks in (1, ANY)
    assert card.recipe.get("expects", "even") == ("far" if one_green_look else "even")
    assert network.knows(FocusGrid.learnaf(), (128, 128))
    assert not network.knows(FocusGrid.uniform(n=20), (128, 128))
    assert json.loads(card.to_json())["recipe"]["width"] == (1.0 if row.looks == WHOLE else 0.5)


@pytest.mark.parametrize("key", LEARNED)
def test_a_plane_is_found(key: str, planes: FocalStack) -> None:
    row = METHODS[key]
    most = 2.0 if row.looks == WHOLE or row.views == 2 else 7.0
    assert error(planes, key) <= most


@pytest.mark.parametrize("key", [key for key in LEARNED if METHODS[key].looks == 1])
def test_one_green_look_does_not_tell_the_side_and_two_views_do(key: str, planes: FocalStack) -> None:
    network, middle = METHODS[key].build(), 24
    assert isinstance(network, Believer)
    look = FocalStack(planes.pixels[:, [middle]], planes.indices[:, [middle]], planes.grid, planes.where)
    chances = np.exp(network.belief(look))
    for truth, each in zip(TRUTHS, chances, strict=True):
        if abs(truth - middle) <= 14:  # farther away all blur is alike
            here, there = (each[at - 3 : at + 4].sum() for at in (truth, 2 * middle - truth))
            if METHODS[key].views == 2:
                assert here > 0.6
                assert there < 0.1
            else:
                assert min(here, there) > 0.1


def test_a_second_green_look_tells_the_side(planes: FocalStack) -> None:
    two = error(planes, "l2a-two-step-green")
    assert two < 0.7 * error(planes, METHODS["l2a-two-step-green"].after)


@pytest.mark.parametrize("key", [key for key in LEARNED if METHODS[key].looks == ANY])
def test_all_looks_together_tell_more_than_one(key: str, planes: FocalStack) -> None:
    together = np.abs(best_index(METHODS[key].build().scores(planes)) - np.array(TRUTHS)).mean()
    assert together <= 1.0
    assert together < error(planes, key)


def test_a_network_in_a_file_is_a_method(tmp_path: Path, planes: FocalStack) -> None:
    shipped = METHODS["dioptre-single-dp"]
    copy = tmp_path / "mine.onnx"
    copy.write_bytes((WEIGHTS / "dioptre-single-dp.onnx").read_bytes())
    mine = find_method(str(copy))
    assert (mine.problem, mine.looks, mine.title) == (shipped.problem, 1, "mine")
    look = FocalStack(planes.pixels[:1, :1], planes.indices[:1, :1], planes.grid, planes.where[:1])
    np.testing.assert_array_equal(mine.build().scores(look), shipped.build().scores(look))
    with pytest.raises(ValueError, match="there is no file"):
        find_method(str(tmp_path / "other.onnx"))
