import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from dioptre.methods.base import WHOLE
from dioptre.methods.learned import METADATA, Card, Learned, normalise
from dioptre.optics import FocusGrid
from dioptre.stack import FocalStack

N, SIZE = 5, 8
GRID = FocusGrid.uniform(n=N)
CARD = Card(
    problem="D1",
    network="test",
    looks=1,
    views=2,
    size=SIZE,
    dioptres=tuple(GRID.dioptres.tolist()),
    pixels="linear",
    decide="mode",
    recipe={},
    data=(),
    validation={},
    version="0",
)


def write_model(path: Path, card: Card | None) -> Path:
    """A network whose score of each position is the mean pixel, the more the nearer position 2."""
    weights = helper.make_tensor("weights", TensorProto.FLOAT, [1, N], [1.0, 2.0, 5.0, 2.0, 1.0])
    nodes = [
        helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["tall"]),
        helper.make_node("MatMul", ["tall", "weights"], ["scores"]),
    ]
    shape = ["batch", "slice", "view", SIZE, SIZE]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", N])],
        [
            weights,
            helper.make_tensor("axes", TensorProto.INT64, [4], [1, 2, 3, 4]),
            helper.make_tensor("column", TensorProto.INT64, [2], [-1, 1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    if card is not None:
        helper.set_model_props(model, {METADATA: card.to_json()})
    onnx.save(model, path)
    return path


def looks(batch: int = 3, size: int = SIZE, views: int = 2, at: int = 1) -> FocalStack:
    pixels = np.random.default_rng(0).random((batch, 1, views, size, size)).astype(np.float32)
    return FocalStack(pixels, np.full((batch, 1), at), GRID)


@pytest.fixture
def learned(tmp_path: Path) -> Learned:
    return Learned(write_model(tmp_path / "model.onnx", CARD))


def test_scores_are_logarithms_of_probabilities(learned: Learned) -> None:
    stack = looks()
    found = learned.scores(stack)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    assert (found.argmax(axis=1) == 2).all()
    raw = stack.pixels.mean(axis=(1, 2, 3, 4))
    np.testing.assert_allclose(found[:, 2] - found[:, 1], 3 * raw, rtol=1e-5)


def test_a_median_has_the_least_expected_error(tmp_path: Path) -> None:
    median = Learned(write_model(tmp_path / "median.onnx", replace(CARD, decide="median")))
    chances = np.array([[0.4, 0.0, 0.0, 0.3, 0.3]])
    with np.errstate(divide="ignore"):
        found = median.decide(np.log(chances))
    np.testing.assert_allclose(found, [[-2.1, -1.9, -1.7, -1.5, -1.9]])
    stack = looks()
    np.testing.assert_array_equal(median.scores(stack), median.decide(median.belief(stack)))


def test_a_large_batch_is_so_many_of_one(learned: Learned) -> None:
    stack = looks(batch=70)
    one = learned.scores(FocalStack(stack.pixels[69:], stack.indices[69:], GRID))
    np.testing.assert_allclose(learned.scores(stack)[69:], one)


def test_a_larger_patch_is_seen_in_tiles(learned: Learned) -> None:
    stack = looks(size=2 * SIZE + 2)
    quarters = [
        replace(stack, pixels=stack.pixels[..., y : y + SIZE, x : x + SIZE])
        for y in (1, 1 + SIZE)
        for x in (1, 1 + SIZE)
    ]
    expected = np.mean([learned.scores(one) for one in quarters], axis=0)
    np.testing.assert_allclose(learned.scores(stack), normalise(expected))


def test_a_pixel_that_is_no_number_does_no_harm(learned: Learned) -> None:
    stack = looks()
    stack.pixels[0, 0, 0, 0, 0] = np.nan
    assert np.isfinite(learned.scores(stack)).all()


@pytest.mark.parametrize(
    ("stack", "sentence"),
    [
        (looks(views=1), "needs the left and the right view"),
        (looks(size=SIZE - 1), "patches of 8 pixels or more"),
        (replace(looks(), grid=FocusGrid.uniform(n=9)), "a ladder of 5 positions"),
        (replace(looks(), grid=FocusGrid.uniform(1.0, 0.1, N)), "another ladder"),
        (
            FocalStack(np.zeros((1, 2, 2, SIZE, SIZE), np.float32), np.array([[0, 1]]), GRID),
            "takes 1 of the 5 slices",
        ),
    ],
)
def test_what_it_was_not_trained_for_is_refused(learned: Learned, stack: FocalStack, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        learned.scores(stack)


def test_an_unknown_ladder_of_the_same_length_will_do(learned: Learned) -> None:
    stack = replace(looks(), grid=FocusGrid.unknown(N))
    np.testing.assert_array_equal(learned.scores(stack), learned.scores(looks()))


def test_a_whole_stack_is_put_in_order(tmp_path: Path) -> None:
    whole = Learned(write_model(tmp_path / "whole.onnx", replace(CARD, looks=WHOLE)))
    pixels = np.random.default_rng(0).random((2, N, 2, SIZE, SIZE)).astype(np.float32)
    stack = FocalStack.full(pixels, GRID)
    turned = FocalStack(pixels[:, ::-1], stack.indices[:, ::-1], GRID)
    np.testing.assert_allclose(whole.scores(turned), whole.scores(stack))
    with pytest.raises(ValueError, match="every slice of the stack once"):
        whole.scores(replace(stack, indices=np.zeros((2, N), np.int64)))


def test_other_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(ValueError, match=r"text\.onnx cannot be read"):
        Learned(tmp_path / "text.onnx").scores(looks())
    with pytest.raises(ValueError, match="not a network of dioptre's"):
        Learned(write_model(tmp_path / "plain.onnx", None)).scores(looks())
    with pytest.raises(ValueError, match="layout 9"):
        Learned(write_model(tmp_path / "new.onnx", replace(CARD, layout=9))).scores(looks())


def test_a_card_survives_the_file(learned: Learned) -> None:
    assert learned.card == CARD
    assert json.loads(CARD.to_json())["looks"] == 1
