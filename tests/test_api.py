import importlib
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import dioptre
from dioptre import errors

PUBLIC = {
    "METHODS",
    "ArchiveError",
    "Autofocus",
    "Camera",
    "CameraError",
    "CameraModel",
    "CameraTimeoutError",
    "CaptureFileError",
    "DepthPrior",
    "DioptreError",
    "FileError",
    "FocalStack",
    "FocusGrid",
    "FocusResult",
    "InputError",
    "Lens",
    "MapFileError",
    "Method",
    "MethodError",
    "MissingExtraError",
    "NetworkError",
    "PatchStore",
    "Problem",
    "Reason",
    "Roi",
    "StackFileError",
    "State",
    "Step",
    "focus",
    "focus_from",
    "focus_map",
    "open_device",
    "open_patches",
    "scores",
}


def in_new_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_public_names_are_these_and_no_others() -> None:
    assert set(dioptre.__all__) == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_can_be_had(name: str) -> None:
    if name in {"PatchStore", "open_patches"}:
        pytest.importorskip("pyarrow")
    assert getattr(dioptre, name) is not None
    assert name in dir(dioptre)


def test_every_error_is_public() -> None:
    defined = {one.__name__ for one in vars(errors).values() if isinstance(one, type)}
    assert defined <= PUBLIC
    assert all(issubclass(getattr(dioptre, name), dioptre.DioptreError) for name in defined)


DOCUMENTED = re.compile(r"^::: dioptre\.(\S+)$", re.MULTILINE)


def test_the_reference_documents_the_public_names_and_no_others() -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    public, _, beside = page.partition("\n## What comes with them")
    assert sorted(DOCUMENTED.findall(public)) == sorted(PUBLIC - {"METHODS"})
    assert "`dioptre.METHODS`" in public
    for name in DOCUMENTED.findall(beside):
        module, _, last = name.rpartition(".")
        assert module
        assert last not in PUBLIC
        assert hasattr(importlib.import_module(f"dioptre.{module}"), last)


@pytest.mark.parametrize("entry", ["focus", "focus_from", "focus_map", "Autofocus"])
def test_positions_enter_everywhere_by_grid(entry: str) -> None:
    names = set(inspect.signature(getattr(dioptre, entry)).parameters)
    assert "grid" in names
    assert not names & {"dioptres", "positions", "positions_um", "optics", "unit"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'unfocus'"):
        _ = dioptre.unfocus


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'numba', 'cv2', 'torch', 'matplotlib', 'scipy', 'jaxtyping'}"
    code = f"import sys, dioptre; print(sorted({heavy} & sys.modules.keys()))"
    assert in_new_python(code).strip() == "[]"


def test_the_table_of_methods_does_not_load_the_kernels() -> None:
    code = "import sys, dioptre; dioptre.METHODS; print('numba' in sys.modules, 'onnxruntime' in sys.modules)"
    assert in_new_python(code).split() == ["False", "False"]


def test_focusing_needs_neither_torch_nor_matplotlib() -> None:
    code = (
        "import sys, numpy as np, dioptre\n"
        "dioptre.focus(np.random.default_rng(0).random((5, 32, 32)))\n"
        "print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    )
    assert in_new_python(code).split() == ["False", "False"]


EVERY_MODULE = """
import importlib, pkgutil
import numpy as np
import dioptre
left_out = []
for module in pkgutil.walk_packages(dioptre.__path__, "dioptre."):
    if module.name != "dioptre.__main__":
        try:
            importlib.import_module(module.name)
        except dioptre.MissingExtraError:
            pass
        except ImportError as error:
            left_out.append(error.name)
extras = {"torch", "onnx", "distributed"}
assert not set(left_out) - extras, left_out
stack = np.random.default_rng(0).random((5, 128, 128)).astype(np.float32)
assert dioptre.focus(stack).index in range(5)
assert dioptre.focus_from(stack[0], at=3).index in range(49)
assert dioptre.focus_map(stack.repeat(2, 1).repeat(2, 2)).index.ndim == 2
assert dioptre.FocalStack.full(stack[None, :, None]).batch == 1
assert len(dioptre.scores(dioptre.FocalStack.full(stack[None, :, None]), ["laplacian-variance"])) == 1
assert dioptre.Autofocus.__module__ == "dioptre.autofocus.autofocus"
"""


def test_no_module_hides_a_public_name() -> None:
    assert in_new_python(EVERY_MODULE) == ""
    rooms = {path.name.removesuffix(".py") for path in files("dioptre").iterdir()}
    assert not rooms & set(dioptre.__all__)


def test_the_package_is_typed_and_has_a_version() -> None:
    assert files("dioptre").joinpath("py.typed").is_file()
    assert version("dioptre") == dioptre.__version__
