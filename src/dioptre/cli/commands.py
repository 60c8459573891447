"""The table of commands: the group that each belongs to, its line in `dioptre --help`, and where its code is.

A command's module is imported when the command is run, and no sooner.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        line: What it does, in at most 64 characters.
        module: Its module in this package.
        config: The dataclass of its flags.
        run: The function that takes a `config` and returns an exit code.
    """

    line: str
    module: str
    config: str
    run: str

    def load(self) -> tuple[type, Callable[[Any], int]]:
        """Returns the dataclass of the flags, and the function that runs them."""
        module = importlib.import_module(f"dioptre.cli.{self.module}")
        return getattr(module, self.config), getattr(module, self.run)


GROUPS: Final[Mapping[str, Mapping[str, Command]]] = {
    "Focus pictures": {
        "focus": Command("find the sharp picture of a stack, or where to go", "focus", "Focus", "run_focus"),
        "map": Command("map where each part of a frame is sharp", "map", "Map", "run_map"),
        "methods": Command("list the focusing methods", "methods", "Methods", "run_methods"),
    },
    "Drive a lens": {
        "run": Command("focus a camera", "lens", "RunLens", "run_lens"),
        "record": Command("sweep a camera's lens and write a stack", "lens", "Record", "run_record"),
        "camera": Command(
            "measure a camera and its lens and write a camera file", "camera", "MeasureCamera", "run_camera"
        ),
    },
    "Make data sets": {
        "simulate": Command(
            "simulate labelled patches, or whole captures", "simulate", "Simulate", "run_simulate"
        ),
        "import": Command(
            "make labelled patches from the published captures or your own",
            "importing",
            "ImportCaptures",
            "run_import",
        ),
        "reconstruct": Command(
            "compute depth from captures of five cameras",
            "reconstruct",
            "ReconstructCaptures",
            "run_reconstruct",
        ),
        "register": Command(
            "undo focal breathing in labelled patches", "register", "Register", "run_register"
        ),
        "verify": Command(
            "check that a folder or file is as it was written", "verify", "Verify", "run_verify"
        ),
    },
    "Learn from them": {
        "train": Command("train a network", "train", "Train", "run_train"),
        "export": Command("write a trained network as an ONNX file", "export", "Export", "run_export"),
        "calibrate": Command(
            "calibrate the disparity methods for a camera", "calibrate", "Calibrate", "run_calibrate"
        ),
    },
    "Evaluate": {
        "predict": Command("run methods on labelled patches", "predict", "Predict", "run_predict"),
        "report": Command("make tables and figures of predictions", "report", "Report", "run_report"),
        "demo": Command(
            "do all of it on a small simulated test set, in a minute", "demo", "Demo", "run_demo"
        ),
    },
}
COMMANDS: Final[Mapping[str, Command]] = {
    name: command for group in GROUPS.values() for name, command in group.items()
}


def overview() -> str:
    """Returns the help of the whole program: every command, in its group."""
    lines = ["usage: dioptre COMMAND ...", "", "Autofocus: from what a camera sees, where its lens must go."]
    for title, group in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<13}{command.line}" for name, command in group.items())]
    ends = [
        "'dioptre COMMAND --help' explains a command. 'dioptre --version' is the version.",
        "To begin: dioptre focus my_stack/",
    ]
    return "\n".join([*lines, "", *ends, ""])
