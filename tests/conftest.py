"""On a base install, without the extras, what needs them is left out, and the report says so.

A file or a test of its own asks for a library of an extra by `pytest.importorskip`; folders are named here.
What commands learn of lenses stays out of the home of whoever runs the tests.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NEEDED = {"train": ("torch", "onnx")}  # folders of tests, and the libraries that they cannot do without
LEFT_OUT = {
    folder: [name for name in names if find_spec(name) is None]
    for folder, names in NEEDED.items()
    if any(find_spec(name) is None for name in names)
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    left_out = any(collection_path.is_relative_to(HERE / folder) for folder in LEFT_OUT)
    return True if left_out else None


def pytest_report_header() -> list[str]:
    return [f"tests/{folder} left out: no {' nor '.join(names)}" for folder, names in LEFT_OUT.items()]


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
            patched.setenv(name, str(folder))
        yield folder
