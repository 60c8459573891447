"""Figures as files that users name."""

from pathlib import Path
from typing import TYPE_CHECKING

from dioptre.errors import InputError

DPI = 130

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure


def save_figure(figure: "Figure", path: Path) -> None:
    """Writes a figure, which appears under its name only once it is whole.

    Raises:
        InputError: If the ending is not that of a picture.
        OSError: If it cannot be written.
    """
    from dioptre.store.manifest import write_file  # noqa: PLC0415

    known = figure.canvas.get_supported_filetypes()
    ending = path.suffix[1:].lower() or "png"
    if ending not in known:
        raise InputError(f"{path}: a picture can be .{', .'.join(known)}, not {path.suffix}")
    try:
        write_file(path, lambda file: figure.savefig(file, dpi=DPI, format=ending))
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
