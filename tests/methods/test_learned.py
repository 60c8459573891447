import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dioptre.errors import MethodError, NetworkError
from dioptre.grid import FocusGrid
from dioptre.methods.base import WHOLE
from dioptre.methods.learned import METADATA, Card, Learned
from dioptre.posterior import Decision, Posterior
from dioptre.stack import FocalStack

onnx = pytest.importorskip("onnx")

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
    decision="mode",
    recipe={},
    lineage={},
    validation={},
    version="0",
)


WEIGHTS = (1.0, 2.0, 5.0, 2.0, 1.0)


def write_model(path: Path, card: Card | None, weights: tuple[float, ...] = WEIGHTS) -> Path:
    """A network whose logit of each position is the mean pixel, the more the nearer position 2."""
    helper, tensor, many = onnx.helper, onnx.TensorProto, len(weights)
    nodes = [
        helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["tall"]),
        helper.make_node("MatMul", ["tall", "weights"], ["logits"]),
    ]
    shape = ["batch", "slice", "view", SIZE, SIZE]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("pixels", tensor.FLOAT, shape)],
        [helper.make_tensor_value_info("logits", tensor.FLOAT, ["batch", many])],
        [
            helper.make_tensor("weights", tensor.FLOAT, [1, many], weights),
            helper.make_tensor("axes", tensor.INT64, [4], [1, 2, 3, 4]),
            helper.make_tensor("column", tensor.INT64, [2], [-1, 1]),
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


def test_a_card_says_how_the_posterior_is_read(tmp_path: Path, learned: Learned) -> None:
    median = Learned(write_model(tmp_path / "median.onnx", replace(CARD, decision="median")))
    stack = looks()
    found = median.posterior(stack)
    np.testing.assert_array_equal(found.logs, learned.posterior(stack).logs)
    assert (found.decision, learned.posterior(stack).decision) == (Decision.MEDIAN, Decision.MODE)
    np.testing.assert_array_equal(median.scores(stack), found.scores())
    np.testing.assert_allclose(median.scores(stack), -found.expected_error())


def test_a_network_may_tell_that_the_focus_is_beyond_an_end(tmp_path: Path) -> None:
    beyond = Learned(write_model(tmp_path / "beyond.onnx", CARD, (3.0, *WEIGHTS, 9.0)))
    stack = looks()
    found = beyond.posterior(stack)
    assert found.positions == N
    raw = stack.pixels.mean(axis=(1, 2, 3, 4))
    np.testing.assert_allclose(np.log(found.beyond_near / found.beyond_far), 6 * raw, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_answer_that_is_not_finite_is_the_networks_error(tmp_path: Path, bad: float) -> None:
    broken = Learned(write_model(tmp_path / "broken.onnx", CARD, (1.0, bad, 1.0, 1.0, 1.0)))
    with pytest.raises(NetworkError, match="the network's answer is not finite"):
        broken.scores(looks())


def test_an_answer_for_another_ladder_is_the_networks_error(tmp_path: Path) -> None:
    other = Learned(write_model(tmp_path / "other.onnx", CARD, (1.0,) * (N + 1)))
    with pytest.raises(NetworkError, match=r"answered \(3, 6\) for 3 looks at a grid of 5 positions"):
        other.posterior(looks())


def test_another_file_is_another_method(tmp_path: Path, learned: Learned) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(learned.path.read_bytes())
    assert Learned(copy).identity == learned.identity
    other = Learned(write_model(tmp_path / "other.onnx", replace(CARD, version="1")))
    assert other.identity != learned.identity


def test_a_large_batch_is_so_many_of_one(learned: Learned) -> None:
    stack = looks(batch=70)
    one = learned.scores(FocalStack(stack.pixels[69:], stack.indices[69:], GRID))
    np.testing.assert_allclose(learned.scores(stack)[69:], one)


def test_a_larger_patch_is_seen_in_tiles(learned: Learned) -> None:
    stack = looks(size=2 * SIZE + 2)
    tiles = [
        replace(stack, pixels=stack.pixels[..., y : y + SIZE, x : x + SIZE])
        for y in (1, 1 + SIZE)
        for x in (1, 1 + SIZE)
    ]
    expected = np.mean([learned.scores(one) for one in tiles], axis=0)
    np.testing.assert_allclose(learned.scores(stack), Posterior.of_logits(expected, N).logs[:, 1:-1])


def test_a_pixel_that_is_no_number_does_no_harm(learned: Learned) -> None:
    stack = looks()
    stack.pixels[0, 0, 0, 0, 0] = np.nan
    assert np.isfinite(learned.scores(stack)).all()


@pytest.mark.parametrize(
    ("stack", "sentence"),
    [
        (looks(views=1), "needs the left and the right view"),
        (looks(size=SIZE - 1), "patches of 8 pixels or more"),
        (replace(looks(), grid=FocusGrid.uniform(n=9)), "a grid of 5 positions"),
        (replace(looks(), grid=FocusGrid.uniform(1.0, 0.1, N)), "another grid"),
        (
            FocalStack(np.zeros((1, 2, 2, SIZE, SIZE), np.float32), np.array([[0, 1]]), GRID),
            "takes 1 of the 5 slices",
        ),
    ],
)
def test_what_it_was_not_trained_for_is_refused(learned: Learned, stack: FocalStack, sentence: str) -> None:
    with pytest.raises(MethodError, match=sentence):
        learned.scores(stack)


def test_an_unknown_ladder_of_the_same_length_will_do(learned: Learned) -> None:
    stack = replace(looks(), grid=FocusGrid(range(N)))
    np.testing.assert_array_equal(learned.scores(stack), learned.scores(looks()))


def test_a_whole_stack_is_put_in_order(tmp_path: Path) -> None:
    whole = Learned(write_model(tmp_path / "whole.onnx", replace(CARD, looks=WHOLE)))
    pixels = np.random.default_rng(0).random((2, N, 2, SIZE, SIZE)).astype(np.float32)
    stack = FocalStack.full(pixels, GRID)
    turned = FocalStack(pixels[:, ::-1], stack.indices[:, ::-1], GRID)
    np.testing.assert_allclose(whole.scores(turned), whole.scores(stack))
    with pytest.raises(MethodError, match="every slice of the stack once"):
        whole.scores(replace(stack, indices=np.zeros((2, N), np.int64)))


def test_other_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("hello")
    with pytest.raises(NetworkError, match=r"text\.onnx cannot be read"):
        Learned(tmp_path / "text.onnx").scores(looks())
    with pytest.raises(NetworkError, match="not a network of dioptre's"):
        Learned(write_model(tmp_path / "plain.onnx", None)).scores(looks())
    with pytest.raises(NetworkError, match="layout 9, but this version of dioptre reads 2"):
        Learned(write_model(tmp_path / "new.onnx", replace(CARD, layout=9))).scores(looks())


def test_a_card_survives_the_file(learned: Learned) -> None:
    assert learned.card == CARD
    assert json.loads(CARD.to_json())["looks"] == 1
