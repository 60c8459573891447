"""The networks that come with the package: what they are, and that they have learned something."""

import json
from pathlib import Path

import numpy as np
import pytest

from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS, find_method
from dioptre.methods.base import ANY, WHOLE, best_index
from dioptre.methods.disparity import DEPTH
from dioptre.methods.learned import WEIGHTS, Learned
from dioptre.optics import CameraModel
from dioptre.pipeline.recipes import SHIPPED
from dioptre.posterior import BEYOND, DepthPrior
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
    looks = max(1, row.looks)
    policy, askers = policy_of(row, looks), askers_of(row, looks, DepthPrior.even())
    answers = [
        best_index(search(STARTS, see_stack(stack, scene), askers, policy).posterior.scores())
        for scene in range(stack.batch)
    ]
    return float(np.abs(np.stack(answers) - truth[:, None]).mean())


def test_all_files_are_rows_and_small() -> None:
    files = list(WEIGHTS.glob("*.onnx"))
    assert {file.stem for file in files} == {*LEARNED, DEPTH.path.stem}
    assert DEPTH.path.stat().st_size < 1e6
    assert sum(file.stat().st_size for file in files) < 25e6


@pytest.mark.parametrize("key", LEARNED)
def test_a_card_says_what_the_row_says(key: str) -> None:
    row, network = METHODS[key], METHODS[key].build()
    assert isinstance(network, Learned)
    card = network.card
    assert (card.problem, card.looks, card.views) == (str(row.problem), row.looks, row.views)
    usual = "median" if key.startswith("dioptre-") else "mode"
    assert card.decision == (SHIPPED.find(key).decision or usual)
    assert "expects" not in card.recipe
    assert network.refusal(FocusGrid.learnaf(), (128, 128), 2) is None
    assert network.refusal(FocusGrid.uniform(n=20), (128, 128), 2) is not None
    assert json.loads(card.to_json())["recipe"]["width"] == (1.0 if row.looks == WHOLE else 0.5)


@pytest.mark.parametrize("key", LEARNED)
def test_a_plane_is_found(key: str, planes: FocalStack) -> None:
    row = METHODS[key]
    most = 2.0 if row.looks == WHOLE or row.views == 2 else 7.0
    assert error(planes, key) <= most


@pytest.mark.parametrize("key", [key for key in LEARNED if METHODS[key].looks == 1])
def test_one_green_look_does_not_tell_the_side_and_two_views_do(key: str, planes: FocalStack) -> None:
    network, middle = METHODS[key].build(), 24
    look = FocalStack(planes.pixels[:, [middle]], planes.indices[:, [middle]], planes.grid, planes.where)
    posterior = network.posterior(look)
    assert posterior is not None
    chances = posterior.ladder
    for truth, each in zip(TRUTHS, chances, strict=True):
        if abs(truth - middle) <= 14:  # farther away all blur is alike
            here, there = (each[at - 3 : at + 4].sum() for at in (truth, 2 * middle - truth))
            if METHODS[key].views == 2:
                assert here > 0.6
                assert there < 0.1
            else:
                assert min(here, there) > 0.1


@pytest.mark.parametrize("key", ["dioptre-single-dp", "dioptre-any-dp"])
@pytest.mark.parametrize("beyond", [-14, -8, -4, 4, 8, 14])
def test_two_views_tell_that_the_focus_is_beyond_an_end_where_it_is_in_sight(key: str, beyond: int) -> None:
    camera, rng = CameraModel.pixel3(), np.random.default_rng(5)
    ladder = camera.grid.dioptres
    far = beyond < 0
    end, inside = (0, 1) if far else (-1, -2)
    depth = float(ladder[end] + abs(beyond) * (ladder[end] - ladder[inside]))
    texture = 0.05 + 0.3 * dead_leaves(184, 184, rng)
    pixels = plane_stack(camera, depth, texture, rng, 128, shot=0.3, read=1.0)
    starts = np.arange(0, 17, 8) if far else np.arange(32, 49, 8)
    indices = starts[:, None]
    looks = FocalStack(pixels[indices].astype(np.float32), indices, camera.grid, np.zeros((len(starts), 2)))
    posterior = METHODS[key].build().posterior(looks)
    assert posterior is not None
    least = BEYOND if abs(beyond) > 4 else 0.7  # a focus just beyond an end looks like one at it
    assert ((posterior.beyond_far if far else posterior.beyond_near) >= least).all()
    away = np.abs(best_index(posterior.scores()) - (0 if far else 48))
    assert away.max() <= (0 if abs(beyond) > 4 else 1)


@pytest.mark.parametrize("key", ["dioptre-single-dp", "dioptre-any-dp"])
def test_what_is_on_the_ladder_is_not_beyond_it(key: str, planes: FocalStack) -> None:
    for start in STARTS:
        looks = FocalStack(planes.pixels[:, [start]], planes.indices[:, [start]], planes.grid, planes.where)
        posterior = METHODS[key].build().posterior(looks)
        assert posterior is not None
        assert max(posterior.beyond_far.max(), posterior.beyond_near.max()) < BEYOND


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
