"""Networks from elsewhere: what does not fit is refused in a sentence with the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dioptre.errors import NetworkError
from dioptre.grid import FocusGrid
from dioptre.methods.learned import METADATA, Learned
from dioptre.methods.model_card import Card
from dioptre.resources import LIMIT
from dioptre.stack import FocalStack

onnx = pytest.importorskip("onnx")
helper, tensor = onnx.helper, onnx.TensorProto

GRID = FocusGrid.uniform(n=5)
LADDER = tuple(GRID.dioptres.tolist())
ENTRIES = json.loads(Card("D1", "x", 1, 2, 8, LADDER, "", "mode", {}, {}, {}, "0").to_json())
STACK = FocalStack(np.full((1, 1, 2, 8, 8), 0.25, np.float32), np.array([[2]]), GRID)
SHAPE = ("batch", "slice", 2, 8, 8)


def write(
    path: Path,
    card: object = ENTRIES,
    name: str = "pixels",
    kind: int = tensor.FLOAT,
    shape: tuple[str | int, ...] = SHAPE,
    nodes: list[Any] | None = None,
    outputs: int = 1,
    extra: list[Any] | None = None,
) -> Learned:
    """A network that answers a constant, or what some nodes make."""
    constant = helper.make_tensor("c", tensor.FLOAT, [1, 5], [1.0, 2.0, 5.0, 2.0, 1.0])
    nodes = nodes or [helper.make_node("Constant", [], ["logits"], value=constant)]
    answers = [helper.make_tensor_value_info("logits", tensor.FLOAT, None)]
    if outputs == 2:
        nodes.append(helper.make_node("Identity", ["logits"], ["more"]))
        answers.append(helper.make_tensor_value_info("more", tensor.FLOAT, None))
    inputs = [helper.make_tensor_value_info(name, kind, shape)]
    graph = helper.make_graph(nodes, "g", inputs, answers, extra or [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    text = card if isinstance(card, str) else json.dumps(card)
    helper.set_model_props(model, {METADATA: text})
    path.write_bytes(model.SerializeToString())
    return Learned(path)


def refusal(network: Learned) -> str:
    with pytest.raises(NetworkError) as refused:
        network.posterior(STACK)
    assert str(network.path) in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_network_that_fits_answers(tmp_path: Path) -> None:
    assert write(tmp_path / "n.onnx").scores(STACK).argmax() == 2


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ([], "layout None"),
        ("null", "layout None"),
        ("[" * 100_000, "no JSON"),
        ("{" + '"a":{' * 100_000, "no JSON"),
        ({}, "layout None"),
        (ENTRIES | {"size": 0}, "size of its card is a whole number in 1..4096, not 0"),
        (ENTRIES | {"size": 2**31}, "size of its card"),
        (ENTRIES | {"views": 3}, "views of its card"),
        (ENTRIES | {"looks": 9}, "looks of its card"),
        (ENTRIES | {"looks": True}, "looks of its card"),
        (ENTRIES | {"dioptres": 3}, "dioptres of its card"),
        (ENTRIES | {"dioptres": [1.0]}, "dioptres of its card"),
        (ENTRIES | {"dioptres": [3.0, 2.0]}, "dioptres rise"),
        (ENTRIES | {"decision": "guess"}, "decision of its card is one of mode, median, not 'guess'"),
        (ENTRIES | {"decision": []}, "decision of its card"),
        (ENTRIES | {"recipe": []}, "recipe of its card is an object"),
        (ENTRIES | {"validation": {"mae": None}}, "validation of its card is finite numbers"),
        (ENTRIES | {"surprise": 1}, "unknown entry 'surprise'"),
        ({key: value for key, value in ENTRIES.items() if key != "views"}, "no entry 'views'"),
    ],
)
def test_a_card_that_cannot_be_is_refused(tmp_path: Path, card: object, told: str) -> None:
    assert told in refusal(write(tmp_path / "n.onnx", card))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "image"}, "has the input 'image', not some of pixels"),
        ({"kind": tensor.DOUBLE}, "its input pixels is tensor(double), not tensor(float)"),
        ({"shape": ("batch", 2, 8, 8)}, "its input pixels has the shape"),
        ({"shape": ("batch", "slice", 2, 8, 9)}, "not (any, any, 2, 8, 8)"),
        ({"outputs": 2}, "1 inputs and 2 outputs"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    assert told in refusal(write(tmp_path / "n.onnx", **change))


def _constant(kind: int, shape: list[int], values: list[float]) -> list[Any]:
    return [helper.make_node("Constant", [], ["logits"], value=helper.make_tensor("c", kind, shape, values))]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: _constant(tensor.FLOAT, [1, 4], [0.0] * 4), "answered (1, 4) for 1 looks"),
        (lambda: _constant(tensor.FLOAT, [5], [0.0] * 5), "answered (5,)"),
        (lambda: _constant(tensor.FLOAT, [1, 5], [float("nan")] * 5), "n.onnx"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(
    tmp_path: Path, make: Callable[[], list[Any]], told: str
) -> None:
    network = write(tmp_path / "n.onnx", nodes=make())
    if "nan" in str(make()):
        with pytest.raises(NetworkError):
            network.posterior(STACK)
        return
    assert told in refusal(network)


def _elsewhere(location: str) -> Any:
    """Weights that a file says lie in another file; large enough that ONNX Runtime leaves them there."""
    weights = onnx.numpy_helper.from_array(np.ones((128, 5), np.float32), "w")
    onnx.external_data_helper.set_external_data(weights, location)
    weights.ClearField("raw_data")
    weights.data_location = tensor.EXTERNAL
    return weights


@pytest.mark.parametrize("held", ["weights", "constant", "branch"])
@pytest.mark.parametrize(
    "location", ["secret.bin", "./secret.bin", "sub/../secret.bin", "absolute", "sub/link.bin"]
)
def test_weights_in_another_file_are_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str, location: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.ones((128, 5), np.float32).tofile("secret.bin")
    Path("sub").mkdir()
    Path("sub/link.bin").symlink_to(tmp_path / "secret.bin")
    weights = _elsewhere(str(tmp_path / "secret.bin") if location == "absolute" else location)
    constant = helper.make_node("Constant", [], ["w"], value=weights)
    nodes = {
        "weights": [helper.make_node("ReduceMax", ["w", "axis"], ["logits"])],
        "constant": [constant, helper.make_node("ReduceMax", ["w", "axis"], ["logits"])],
        "branch": [
            helper.make_node(
                "If", ["yes"], ["logits"], then_branch=_branch(constant), else_branch=_branch(constant)
            )
        ],
    }[held]
    extra = [
        helper.make_tensor("axis", tensor.INT64, [1], [0]),
        helper.make_tensor("yes", tensor.BOOL, [1], [True]),
        *([weights] if held == "weights" else []),
    ]
    assert "cannot be read" in refusal(write(tmp_path / "n.onnx", nodes=nodes, extra=extra))


def _branch(constant: Any) -> Any:
    answer = helper.make_node("ReduceMax", ["w", "axis"], ["y"])
    return helper.make_graph(
        [constant, answer], "branch", [], [helper.make_tensor_value_info("y", tensor.FLOAT, None)]
    )


def test_a_model_that_onnx_saved_with_its_weights_beside_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    weights = onnx.numpy_helper.from_array(np.ones((128, 5), np.float32), "w")
    axis = helper.make_tensor("axis", tensor.INT64, [1], [0])
    nodes = [helper.make_node("ReduceMax", ["w", "axis"], ["logits"])]
    network = write(tmp_path / "n.onnx", nodes=nodes, extra=[weights, axis])
    assert network.scores(STACK).shape == (1, 5)
    beside = tmp_path / "beside.onnx"
    onnx.save_model(onnx.load(network.path), beside, save_as_external_data=True, location="w.bin")
    assert (tmp_path / "w.bin").is_file()
    assert "cannot be read" in refusal(Learned(beside))


def test_a_file_larger_than_the_limit_of_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = write(
        tmp_path / "n.onnx", extra=[onnx.numpy_helper.from_array(np.zeros(50_000, np.float32), "w")]
    )
    monkeypatch.setenv(LIMIT, "0.0001")
    assert "cannot be read: it would take" in refusal(network)


def test_an_operator_that_fails_is_said_in_a_line(tmp_path: Path) -> None:
    shape = helper.make_tensor("shape", tensor.INT64, [1], [7])
    network = write(
        tmp_path / "n.onnx",
        nodes=[helper.make_node("Reshape", ["pixels", "shape"], ["logits"])],
        extra=[shape],
    )
    assert "did not answer" in refusal(network)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x08\x0a" * 40])
def test_what_is_no_network_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "n.onnx").write_bytes(content)
    assert "cannot be read" in refusal(Learned(tmp_path / "n.onnx"))


def test_the_format_of_the_runtime_itself_is_not_read(tmp_path: Path) -> None:
    content = b"\x22\x06ABORTM" + write(tmp_path / "n.onnx").path.read_bytes()  # its mark is at byte 4
    (tmp_path / "n.onnx").write_bytes(content)
    assert Learned(tmp_path / "n.onnx").scores(STACK).argmax() == 2
