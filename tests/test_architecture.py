"""Rooms import only rooms before them, heavy libraries have one door, files can be read at one sitting."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "dioptre"

# A room may import only rooms on earlier lines; rooms on one line do not know each other.
ORDER = (
    ("errors", "compiled", "problem", "robust"),
    ("resources",),
    ("grid",),
    ("optics", "rig"),
    ("stack", "posterior", "miss", "motion"),
    ("methods", "simulate", "groundtruth", "stacks"),
    ("store",),
    ("cameras",),
    ("confidence",),
    ("focusing",),
    ("autofocus",),
    ("train", "evaluate"),
    ("pipeline",),
    ("web",),
    ("cli",),
    ("__main__",),
)
LINE = {room: line for line, rooms in enumerate(ORDER) for room in rooms}

# Heavy libraries have one door each.
DOORS = {
    "torch": ("train",),
    "onnxruntime": ("methods.learned", "train.export"),
    "onnx": ("train",),
    "matplotlib": ("evaluate.figures",),
    "numba": ("compiled",),
    "tyro": ("cli",),
    "cv2": ("stacks", "store", "simulate", "groundtruth", "cameras.opencv", "methods.filters"),
    "tifffile": ("stacks", "store"),
    "pyarrow": ("store.parquet",),
    "OpenEXR": ("store.maps",),
    "rawpy": ("stacks.decoding",),
    "pillow_heif": ("stacks.decoding",),
    "zarr": ("stacks.microscopes",),
    "nd2": ("stacks.microscopes",),
    "pylibCZIrw": ("stacks.zeiss",),
    "pymmcore_plus": ("cameras.micromanager", "cameras.micromanager_engine", "cameras.micromanager_replay"),
    "useq": ("cameras.micromanager_engine",),
    "picamera2": ("cameras.picamera2",),
    "libcamera": ("cameras.picamera2",),
}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_of(names: set[str]) -> set[str]:
    rooms = {name.split(".")[1] for name in names if name.startswith("dioptre.")}
    return rooms & LINE.keys()


def test_a_room_imports_only_rooms_before_it() -> None:
    against = []
    for path in MODULES:
        room = dotted(path).split(".")[0]
        assert room in LINE, f"{room} is not a room of the design"
        others = rooms_of(imports(tree_of(path))) - {room}
        against += [f"{dotted(path)} imports {other}" for other in others if LINE[other] >= LINE[room]]
    assert against == []


def test_reconstruction_does_not_know_the_simulator() -> None:
    both = [*(SOURCE / "groundtruth").glob("*.py"), SOURCE / "pipeline" / "reconstructing.py"]
    assert [dotted(path) for path in both if "simulate" in rooms_of(imports(tree_of(path)))] == []


def test_the_check_sees_an_import_against_the_flow() -> None:
    tree = ast.parse("from dioptre.cli import main\nimport torch.nn\nfrom dioptre import focusing\n")
    assert rooms_of(imports(tree)) == {"cli", "focusing"}
    assert "torch.nn" in imports(tree)


def test_the_package_does_not_import_the_lab_or_the_tests() -> None:
    roots = {(dotted(path), name.split(".")[0]) for path in MODULES for name in imports(tree_of(path))}
    assert [where for where, root in roots if root in {"lab", "tests"}] == []


def test_heavy_libraries_have_one_door() -> None:
    elsewhere = []
    for path in MODULES:
        libraries = {name.split(".")[0] for name in imports(tree_of(path))} & DOORS.keys()
        elsewhere += [
            f"{dotted(path)}: {library}"
            for library in libraries
            if not any(f"{dotted(path)}.".startswith(f"{door}.") for door in DOORS[library])
        ]
    assert elsewhere == []


def test_every_module_says_what_it_holds_and_has_a_name_of_its_own() -> None:
    drawers = {"utils", "util", "common", "helpers", "misc"}
    assert [dotted(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    assert [dotted(path) for path in MODULES if path.stem in drawers] == []


def test_files_and_functions_can_be_read_at_one_sitting() -> None:
    long = []
    for path in MODULES:
        if "kernels" in path.with_suffix("").parts:  # compiled loops may be as long as they must
            continue
        if len(path.read_text(encoding="utf-8").splitlines()) > 450:
            long.append(dotted(path))
        functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]
        long += [
            f"{dotted(path)}.{node.name}"
            for node in functions
            if (node.end_lineno or 0) - node.lineno + 1 > 60
        ]
    assert long == []
