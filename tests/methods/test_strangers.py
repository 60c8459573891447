"""Networks from elsewhere: what does not fit is refused in a sentence with the file."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dioptre.errors import NetworkError
from dioptre.methods import learned
from dioptre.methods.footprint import COPIES, GRAPH, MOST_STRUCTURE, WEIGHTS, footprint
from dioptre.methods.learned import METADATA, Learned
from dioptre.methods.model_card import Card
from dioptre.optics import FocusGrid
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


def test_a_network_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "FIRST_RUN_S", 0.2)
    names = ["large", *(f"x{at}" for at in range(2000))]
    nodes = [
        helper.make_node("ReduceMean", ["pixels"], ["mean"], keepdims=0),
        helper.make_node("Expand", ["mean", "shape"], ["large"]),
        *(helper.make_node("Sin", [one], [other]) for one, other in pairwise(names)),
        helper.make_node("ReduceMax", [names[-1]], ["logits"]),
    ]
    shape = helper.make_tensor("shape", tensor.INT64, [1], [1_000_000])
    network = write(tmp_path / "n.onnx", nodes=nodes, extra=[shape])
    assert "did not answer in 0.2 s" in refusal(network)


def test_weights_in_another_file_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.zeros(5, np.float32).tofile("secret.bin")
    weights = helper.make_tensor("w", tensor.FLOAT, [1, 5], np.zeros(5, np.float32).tobytes(), raw=True)
    onnx.external_data_helper.set_external_data(weights, "secret.bin")
    weights.ClearField("raw_data")
    weights.data_location = tensor.EXTERNAL
    nodes = [helper.make_node("Identity", ["w"], ["logits"])]
    assert "cannot be read" in refusal(write(tmp_path / "n.onnx", nodes=nodes, extra=[weights]))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x08\x0a" * 40])
def test_what_is_no_network_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "n.onnx").write_bytes(content)
    assert "cannot be read" in refusal(Learned(tmp_path / "n.onnx"))


BOUNDED = """
import sys
import numpy as np
from dioptre.methods.learned import Learned
from dioptre.optics import FocusGrid
from dioptre.stack import FocalStack
stack = FocalStack(np.full((1, 1, 2, 8, 8), 0.25, np.float32), np.array([[2]]), FocusGrid.uniform(n=5))
try:
    Learned(__import__("pathlib").Path(sys.argv[1])).posterior(stack)
except Exception as error:
    print(type(error).__name__, error)
status = open("/proc/self/status").read()  # not ru_maxrss, which remembers the process that started this one
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def answer_within(path: Path, gigabytes: float) -> tuple[str, int]:
    """What a process says that asks a network, and the most memory that it had, in MiB."""
    said = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(path)],
        env={**os.environ, LIMIT: str(gigabytes)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return said[0], int(said[-1])


@pytest.mark.parametrize("operator", ["Expand", "Tile"])
def test_a_network_takes_no_more_memory_than_the_limit(tmp_path: Path, operator: str) -> None:
    wanted = [helper.make_tensor("shape", tensor.INT64, [1], [1_000_000_000])]
    nodes = [
        helper.make_node("ReduceMean", ["pixels"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "one"], ["flat"]),
        helper.make_node(operator, ["flat", "shape"], ["large"]),
        helper.make_node("ReduceSum", ["large"], ["logits"]),
    ]
    one = helper.make_tensor("one", tensor.INT64, [1], [1])
    network = write(tmp_path / "n.onnx", nodes=nodes, extra=[*wanted, one])
    said, most_mib = answer_within(network.path, 0.2)
    assert "n.onnx did not answer: it asks for more than 0.2 GB of memory" in said
    assert said.startswith("NetworkError")
    assert most_mib < 1000


def test_a_network_that_is_all_structure_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    names = ["pixels", *(f"{at:x}" for at in range(20_000))]
    nodes = [helper.make_node("Neg", [one], [other]) for one, other in pairwise(names)]
    network = write(tmp_path / "n.onnx", nodes=[*nodes, helper.make_node("Neg", [names[-1]], ["logits"])])
    said, most_mib = answer_within(network.path, 0.05)
    assert "n.onnx cannot be read: it would take" in said
    assert most_mib < 300


def test_what_a_network_asks_for_is_its_weights_and_its_structure(tmp_path: Path) -> None:
    weights = np.zeros(100_000, np.float32)
    large = onnx.numpy_helper.from_array(weights, "large")
    small, content = (
        write(tmp_path / f"{len(extra)}.onnx", extra=extra).path.read_bytes() for extra in ([], [large])
    )
    assert footprint(content) - footprint(small) == pytest.approx(COPIES * weights.nbytes, rel=0.05)
    with pytest.raises(NetworkError, match="beside its weights"):
        footprint(_field(GRAPH, _field(WEIGHTS, _field(1, bytes(MOST_STRUCTURE)))))


# What a graph may hold


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    length, digits = len(content), bytearray()
    while length >= 0x80:
        digits.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([number << 3 | 2, *digits, length]) + content


def _graph(nodes: list[Any], name: str) -> Any:
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("y", tensor.FLOAT, None)])


def _text(name: str) -> Any:
    return helper.make_tensor(name, tensor.STRING, [1], [b"x" * 1000])


NODE = helper.make_node
BRANCH = _graph([NODE("Identity", ["pixels"], ["y"])], "branch")
ONE = helper.make_tensor("v", tensor.FLOAT, [1], [1.0])
PLACE = helper.make_tensor("i", tensor.INT64, [1], [10**9])


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (NODE("Unique", ["pixels"], ["logits"]), "has the operator 'Unique'"),
        (NODE("Loop", ["", "", "pixels"], ["logits"], body=BRANCH), "has the operator 'Loop'"),
        (NODE("Relu", ["pixels"], ["logits"], body=BRANCH), "Relu holds ['body'], which is no array"),
        (NODE("Relu", ["pixels"], ["logits"], domain="evil"), "has the operator 'evil.Relu'"),
        (NODE("Cast", ["pixels"], ["logits"], to=tensor.STRING), "makes text by Cast"),
        (NODE("Constant", [], ["logits"], value_string="x"), "makes text by Constant"),
        (NODE("Constant", [], ["logits"], value=_text("t")), "weights that are text"),
        (
            NODE("Constant", [], ["logits"], sparse_value=helper.make_sparse_tensor(ONE, PLACE, [2**31])),
            "holds ['sparse_value'], which is no array",
        ),
    ],
)
def test_more_than_operators_on_numbers_is_refused(tmp_path: Path, node: Any, told: str) -> None:
    assert told in refusal(write(tmp_path / "n.onnx", nodes=[node]))


def test_text_and_sparse_weights_are_refused(tmp_path: Path) -> None:
    assert "weights that are text" in refusal(write(tmp_path / "n.onnx", extra=[_text("t")]))
    network = write(tmp_path / "m.onnx")
    model = onnx.load(str(network.path))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(ONE, PLACE, [2**31]))
    network.path.write_bytes(model.SerializeToString())
    assert "sparse weights" in refusal(network)


def test_functions_that_call_each_other_are_refused_before_they_are_unfolded(tmp_path: Path) -> None:
    network = write(tmp_path / "n.onnx")
    model = onnx.load(str(network.path))
    called, domain, opsets = "Neg", "", [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    for depth in range(12):  # 10^12 operators in a few kilobytes
        names = ["x", *(f"t{at}" for at in range(9)), "y"]
        nodes = [NODE(called, [one], [other], domain=domain) for one, other in pairwise(names)]
        called, domain = f"f{depth}", "own"
        model.functions.append(helper.make_function(domain, called, ["x"], ["y"], nodes, opsets))
    network.path.write_bytes(model.SerializeToString())
    assert "functions of its own" in refusal(network)


def test_a_declared_size_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    network = write(tmp_path / "n.onnx", shape=("batch", "slice", 2, 8, 2**40))
    assert f"declares an array of 2 x 8 x {2**40} numbers" in refusal(network)


def test_constants_are_not_unfolded_while_a_network_is_loaded(tmp_path: Path) -> None:
    nodes = [NODE("Expand", ["one", "shape"], ["large"]), NODE("ReduceSum", ["large"], ["logits"])]
    extra = [
        helper.make_tensor("one", tensor.FLOAT, [1], [1.0]),
        helper.make_tensor("shape", tensor.INT64, [1], [200_000_000]),
    ]
    said, most_mib = answer_within(write(tmp_path / "n.onnx", nodes=nodes, extra=extra).path, 0.2)
    assert "n.onnx did not answer: it asks for more than 0.2 GB of memory" in said
    assert most_mib < 300  # 1600 and more before


@pytest.mark.parametrize(
    "hidden",
    [
        b"\x0b\x0c",  # a group, which others skip
        b"\x00",  # field 0
        b"\xba\x80\x80\x80\x70\x00",  # a number beyond 32 bits: field 7, for who cuts it off
        b"\x08" + b"\xff" * 10,
        b"\x3a\xff\x7f",
    ],
)
def test_bytes_that_others_might_read_otherwise_are_refused(tmp_path: Path, hidden: bytes) -> None:
    network = write(tmp_path / "n.onnx")
    network.path.write_bytes(network.path.read_bytes() + hidden)
    assert "damaged at byte" in refusal(network)


def test_the_format_of_the_runtime_itself_is_not_read(tmp_path: Path) -> None:
    content = b"\x22\x06ABORTM" + write(tmp_path / "n.onnx").path.read_bytes()  # its mark is at byte 4
    (tmp_path / "n.onnx").write_bytes(content)
    assert Learned(tmp_path / "n.onnx").scores(STACK).argmax() == 2
