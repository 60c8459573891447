import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dioptre"

# A room may import only rooms on earlier lines; rooms on one line do not know each other.
ORDER = (
    ("errors", "compiled", "problem"),
    ("memory",),
    ("optics",),
    ("stack", "posterior"),
    ("methods", "simulate", "groundtruth", "dataset"),
    ("cameras",),
    ("loop",),
    ("train", "evaluate"),
    ("pipeline", "bench"),
    ("web",),
    ("cli",),
    ("__main__",),
)
LINE = {room: line for line, rooms in enumerate(ORDER) for room in rooms}

# Heavy libraries have one door each.
DOORS = {
    "torch": ("train", "bench.learned"),
    "onnxruntime": ("methods.learned", "train.export"),
    "onnx": ("train", "bench.learned"),
    "matplotlib": "evaluate.figures",
    "pycolmap": "groundtruth.sfm",
    "numba": "compiled",
    "tyro": "cli",
    "cv2": ("dataset", "simulate", "groundtruth", "bench.captures", "cameras.opencv", "methods.uncompiled"),
    "tifffile": "dataset",
    "OpenEXR": "dataset",
    "rawpy": "dataset.decoding",
    "pillow_heif": "dataset.decoding",
    "zarr": "dataset.microscopes",
    "nd2": "dataset.microscopes",
    "czifile": "dataset.microscopes",
    "pymmcore_plus": ("cameras.micromanager", "cameras.micromanager_engine", "cameras.micromanager_replay"),
    "useq": "cameras.micromanager_engine",
    "picamera2": "cameras.picamera2",
    "libcamera": "cameras.picamera2",
}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_of(names: set[str]) -> set[str]:
    rooms = {name.split(".")[1] for name in names if name.startswith("dioptre.")}
    return rooms & LINE.keys()


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_room_imports_only_rooms_before_it(path: Path) -> None:
    room = dotted(path).split(".")[0]
    assert room in LINE, f"{room} is not a room of the design"
    for other in rooms_of(imports(path)) - {room}:
        assert LINE[other] < LINE[room], f"{dotted(path)} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_heavy_libraries_have_one_door(path: Path) -> None:
    for library in {name.split(".")[0] for name in imports(path)} & DOORS.keys():
        doors = DOORS[library]
        doors = (doors,) if isinstance(doors, str) else doors
        assert any(f"{dotted(path)}.".startswith(f"{door}.") for door in doors), f"{dotted(path)}: {library}"


def test_the_check_sees_an_import_against_the_flow(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("from dioptre.cli import main\nimport torch.nn\nfrom dioptre import loop\n")
    assert rooms_of(imports(bad)) == {"cli", "loop"}
    assert "torch.nn" in imports(bad)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_every_module_says_what_it_holds(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_module_is_a_drawer_for_odds_and_ends(path: Path) -> None:
    assert path.stem not in {"utils", "util", "common", "helpers", "misc"}


KERNELS = {"kernels"}  # compiled loops may be as long as they must


@pytest.mark.parametrize(
    "path", [path for path in MODULES if not KERNELS & set(path.with_suffix("").parts)], ids=dotted
)
def test_files_and_functions_can_be_read_at_one_sitting(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 450
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert {name: length for name, length in lengths.items() if length > 60} == {}
