"""What is fast, against what: speed tables, each of ratios that were measured in one run.

measures    the classical measures, against the plain reference
disparity   stereo matching, against a plain loop over shifts
frame       all patches of a whole frame at once, against one patch after the other
store       reading patches, from a cold and from a warm cache
captures    the store of whole captures, against a folder of PNG files
simulator   rendering, against aperture sampling
learned     networks in ONNX Runtime, against torch; what a training step is made of
streaming   big stacks from files, against a plain OpenCV loop: time and memory
first_answer   `dioptre focus` of a small stack against a plain OpenCV loop, processes counted whole
timing      how time is taken
"""

import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, Literal, get_args

from dioptre.errors import MissingExtraError

Table = Literal["measures", "disparity", "frame", "store", "captures", "simulator", "learned", "first_answer"]
TABLES: Final[tuple[Table, ...]] = get_args(Table)
NEEDS: Final[Mapping[Table, tuple[str, str]]] = {
    "learned": ("torch", "the table of the networks compares with torch: pip install 'dioptre[train]'"),
}


def print_table(name: Table) -> None:
    """Measures and prints one table.

    Raises:
        MissingExtraError: If it compares with a library that is not there.
    """
    library, remedy = NEEDS.get(name, ("", ""))
    if library and find_spec(library) is None:
        raise MissingExtraError(remedy)
    importlib.import_module(f"lab.speed.{name}").main(())
