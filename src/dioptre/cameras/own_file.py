"""What a person has written in a file of Python: FILE.py:NAME, a function, a class or an object there.

    my_lens.py:move     a function, with the limits and the unit (step, position, abort) that the file tells
    my_lens.py:Motor    a class, which is made without arguments
    my_lens.py          the file itself, if it has move, limits and unit

A file is run once, however many names of it are asked for, as its folder's own: it may import its neighbours.
"""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from dioptre.cameras.base import as_camera_error
from dioptre.cameras.pair import NEEDED, FunctionLens
from dioptre.errors import FileError, InputError

SUFFIX: Final = ".py"
EXTRAS: Final = ("step", "position", "abort")  # what may be told of a lens beside its limits and its unit
EXAMPLES: Final = {"limits": "limits = 0, 4000", "unit": 'unit = "steps"'}


def is_own(address: str) -> bool:
    """Returns whether an address is a person's file, or a name in it."""
    return _split(address)[0].endswith(SUFFIX)


def load_own(address: str) -> Any:
    """Returns what an address names: a function or an object; a class is made one.

    Raises:
        FileError: If there is no such file, or it cannot be run.
        InputError: If the file has no such name.
    """
    path, name = _split(address)
    module = _run(Path(path))
    if not name:
        return module
    if not hasattr(module, name):
        has = ", ".join(
            one for one, what in vars(module).items() if callable(what) and not one.startswith("_")
        )
        raise InputError(f"{path} has no {name}: it has {has or 'nothing to call'}")
    found = getattr(module, name)
    if not isinstance(found, type):
        return found
    try:
        return found()
    except Exception as error:
        raise FileError(f"{address} cannot be made without arguments: {as_camera_error(error)}") from error


def load_lens(address: str, limits: Sequence[float | int] | None, unit: str | None) -> Any:
    """Returns the lens that an address names.

    Args:
        address: FILE.py:NAME.
        limits: Of a function, if its file tells none.
        unit: The same.

    Raises:
        FileError: If there is no such file, or it cannot be run.
        InputError: If it moves no lens, or nobody has told how far that goes, or in which unit.
    """
    found = load_own(address)
    if all(hasattr(found, name) for name in NEEDED):
        return found
    move = getattr(found, "move", found)
    if not callable(move):
        raise InputError(f"{address} moves no lens: say which function does, FILE.py:NAME")
    module = _run(Path(_split(address)[0]))
    told: dict[str, Any] = {"limits": None if limits is None else sorted(limits), "unit": unit}
    told |= {name: getattr(one, name) for one in (module, found) for name in told if hasattr(one, name)}
    for name, value in told.items():
        if value is None:
            raise InputError(f"nobody has told the {name} of {address}: {EXAMPLES[name]} in it, or --{name}")
    owner = module if move is found else found
    extras = {name: getattr(owner, name) for name in EXTRAS if hasattr(owner, name)}
    return FunctionLens(move, told["limits"], told["unit"], **extras)


def _split(address: str) -> tuple[str, str]:
    """Returns the file and the name of an address; no name if there is none."""
    path, _, name = address.rpartition(":")
    return (path, name) if path.endswith(SUFFIX) else (address, "")


def _run(path: Path) -> ModuleType:
    """Returns a file as a module; the same one each time."""
    if not path.is_file():
        raise FileError(f"there is no {path}")
    name = f"own_file:{path.resolve()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise FileError(f"{path} cannot be run: {as_camera_error(error)}") from error
    return module
