"""Figures as files that users name."""

from pathlib import Path
from typing import TYPE_CHECKING

from dioptre.cli.console import refuse_overwriting
from dioptre.errors import InputError

DPI = 130

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure


def refuse_figure(path: Path, overwrite: bool) -> None:
    """Refuses a figure that could not be written, before there is anything to draw.

    Raises:
        FileError: If the file is there already, or its folder is not.
        InputError: If the ending is not that of a picture.
        MissingExtraError: If there is no matplotlib.
    """
    from dioptre.evaluate.figures import new_figure  # noqa: PLC0415

    refuse_overwriting(path, overwrite)
    known = new_figure(1.0, 1.0).canvas.get_supported_filetypes()
    if _ending(path) not in known:
        raise InputError(f"{path}: a picture can be .{', .'.join(known)}, not {path.suffix}")


def save_figure(figure: "Figure", path: Path) -> None:
    """Writes a figure, which appears under its name only once it is whole.

    Raises:
        OSError: If it cannot be written.
    """
    from dioptre.store.manifest import write_file  # noqa: PLC0415

    try:
        write_file(path, lambda file: figure.savefig(file, dpi=DPI, format=_ending(path)))
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _ending(path: Path) -> str:
    return path.suffix[1:].lower() or "png"
