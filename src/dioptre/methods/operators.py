"""What the graph of a network from elsewhere may hold, checked in its file before it is loaded.

ONNX is a language: its functions may call each other ten times each and ten deep, its loops need not end,
its strings lie outside of the memory that is bounded, and so does what some operators keep beside their
answer. None of that is needed to look at pictures, so it is refused: what is left is a list of operators on
arrays of numbers, each done once, whose memory comes from the bounded arena.
"""

from math import prod
from typing import Final

from dioptre.errors import NetworkError
from dioptre.methods.protobuf import Field, Message
from dioptre.resources import GIGA, LIMIT, largest_bytes

# Fields, as ONNX numbers them
GRAPH, FUNCTIONS, TRAINING = 7, 25, 20  # of a model
NODE, WEIGHTS, INPUT, OUTPUT, DECLARED, SPARSE = 1, 5, 11, 12, 13, 15  # of a graph
OPERATOR, ATTRIBUTE, DOMAIN = 4, 5, 7  # of a node
NAME, WHOLE, TENSOR = 1, 3, 5  # of an attribute
TEXTS: Final = (4, 9)  # likewise
BEYOND_ARRAYS: Final = (6, 11, 14, 15, 22, 23)  # likewise: graphs, types, sparse arrays
SIZES, TYPE = 1, 2  # of weights
SHAPED, TENSOR_TYPE, SHAPE, SIZE, HOW_LARGE = 2, 1, 2, 1, 1  # of what is declared, and within
STRING: Final = 8  # the type of an array of text
NUMBER_BYTES: Final = 4

NAMES: Final = (
    "Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift "
    "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Concat Constant "
    "ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumSum DepthToSpace DequantizeLinear Div "
    "Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather "
    "GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater "
    "GreaterOrEqual GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization "
    "IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization "
    "LpPool MatMul MatMulInteger Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul Neg Not "
    "OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN Range "
    "Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round ScatterElements ScatterND Selu "
    "Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt "
    "Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where "
    "Xor"
)
OPERATORS: Final = frozenset(NAMES.split())


def refuse_operators(content: bytes) -> None:
    """Raises NetworkError if a network is more than a list of known operators on arrays of numbers.

    Args:
        content: The bytes of its file.
    """
    model = Message(content)
    for one in model.fields():
        if one.number in (FUNCTIONS, TRAINING):
            raise NetworkError("it has functions of its own, which networks from elsewhere may not have")
        if one.number == GRAPH:
            _check_graph(model, one)


def _check_graph(model: Message, graph: Field) -> None:
    for one in model.fields(graph.begin, graph.end):
        if one.number == NODE:
            _check_node(model, one)
        elif one.number == WEIGHTS:
            _check_weights(model, one)
        elif one.number in (INPUT, OUTPUT, DECLARED):
            _check_declared(model, one)
        elif one.number == SPARSE:
            raise NetworkError("it has sparse weights, which networks from elsewhere may not have")


def _check_node(model: Message, node: Field) -> None:
    fields = list(model.fields(node.begin, node.end))
    names = [model.text(one) for one in fields if one.number == OPERATOR]
    domains = [model.text(one) for one in fields if one.number == DOMAIN]
    known = len(names) == 1 and names[0] in OPERATORS
    if not known or any(domain not in ("", "ai.onnx") for domain in domains):
        shown = ".".join([*domains, *names])[:80]
        raise NetworkError(f"it has the operator {shown!r}, which networks from elsewhere may not have")
    for one in fields:
        if one.number == ATTRIBUTE:
            _check_attribute(model, one, names[0])


def _check_attribute(model: Message, attribute: Field, operator: str) -> None:
    fields = list(model.fields(attribute.begin, attribute.end))
    names = [model.text(one) for one in fields if one.number == NAME]
    for one in fields:
        text = (one.number in TEXTS and operator == "Constant") or (
            one.number == WHOLE and one.value == STRING and "to" in names
        )
        if text:
            raise NetworkError(f"it makes text by {operator}, which networks from elsewhere may not")
        if one.number in BEYOND_ARRAYS:
            raise NetworkError(f"its operator {operator} holds {names}, which is no array of numbers")
        if one.number == TENSOR:
            _check_weights(model, one)


def _check_weights(model: Message, tensor: Field) -> None:
    if any(one.number == TYPE and one.value == STRING for one in model.fields(tensor.begin, tensor.end)):
        raise NetworkError("it has weights that are text, which networks from elsewhere may not have")


def _check_declared(model: Message, declared: Field) -> None:
    """Raises NetworkError if a network says that an array is larger than the limit of memory."""
    for typed in model.inner(SHAPED, declared.begin, declared.end):
        for tensor in model.inner(TENSOR_TYPE, *typed):
            for shape in model.inner(SHAPE, *tensor):
                sizes = [
                    one.value
                    for size in model.inner(SIZE, *shape)
                    for one in model.fields(*size)
                    if one.number == HOW_LARGE
                ]
                if prod(size for size in sizes if size) * NUMBER_BYTES > (limit := largest_bytes()):
                    shown = " x ".join(map(str, sizes))[:80]
                    raise NetworkError(
                        f"it declares an array of {shown} numbers, more than {limit / GIGA:.3g} GB: "
                        f"{LIMIT} allows more"
                    )
