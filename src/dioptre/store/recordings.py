"""Recordings: a sweep of a camera as a folder of pictures, which everything that reads stacks reads.

    slice_0000.png        16-bit, 0 black, 65535 white; of two views *_left.png, *_right.png
    positions.csv         the name of each picture and where the lens was: dioptres, or in the lens's unit
    recording.json        written last: its presence means that the recording is complete

recording.json holds the positions, their unit and dioptres (nulls if these are not known), the place of the
frames in the field, and when each frame was there.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from dioptre import __version__
from dioptre.errors import FileError, InputError
from dioptre.grid import SLICE, FocusGrid
from dioptre.resources import read_text
from dioptre.stacks.encoding import to_png
from dioptre.store.lock import LOCK, locked
from dioptre.store.manifest import write_file

RECORDING = "recording.json"
POSITIONS = "positions.csv"
WHITE = 65535
KIND = "recording"

Frame = Float32[np.ndarray, "view row col"]


@dataclass(frozen=True)
class Recording:
    """What is known of a recorded sweep beside its pictures.

    Attributes:
        device: The camera's address.
        dioptres: Focus of each slice, nulls if it is not known.
        unit: What positions are counted in; None of older recordings of slices.
        positions: Where each slice was taken; empty in older recordings of slices.
        where: The middle of the frames in the field, if that is known.
        seconds: When each frame was there, from the first command.
        nearer: Whether later slices focus nearer, where that is known.
    """

    device: str
    dioptres: list[float | None]
    unit: str | None = None
    positions: tuple[float, ...] = ()
    where: tuple[float, float] | None = None
    seconds: tuple[float, ...] = ()
    nearer: bool | None = None

    @property
    def grid(self) -> FocusGrid:
        """Where the slices were taken."""
        known = FocusGrid.from_json(self.dioptres)
        if not self.positions:
            return known
        dioptres = known.dioptres if known.known else None
        return FocusGrid(self.positions, self.unit or SLICE, dioptres, nearer=self.nearer)

    @classmethod
    def read(cls, folder: Path) -> "Recording | None":
        """Returns the recording in a folder of pictures; None if it is none.

        Raises:
            FileError: If it is one that cannot be understood.
        """
        path = folder / RECORDING
        if not path.is_file():
            return None
        try:
            entries = json.loads(read_text(path))
            if entries.pop("kind") != KIND:
                raise InputError("it is of another kind")
            entries.pop("dioptre")
            where, several = entries.pop("where"), {}
            for name in ("positions", "seconds"):
                several[name] = tuple(float(one) for one in entries.pop(name))
            place = None if where is None else (float(where[0]), float(where[1]))
            found = cls(**{**entries, **several, "where": place})
            if found.positions and len(found.positions) != len(found.dioptres):
                raise InputError(f"{len(found.dioptres)} slices have {len(found.positions)} positions")
            _ = found.grid  # whose positions rise or fall
        except (LookupError, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
            raise FileError(f"{path} does not describe a recording: {error}") from None
        return found

    def to_json(self) -> dict[str, Any]:
        """Returns it as plain JSON."""
        return {"kind": KIND, "dioptre": __version__, **asdict(self)}


def write_recording(folder: Path, frames: Iterable[Frame], describe: Any) -> int:
    """Writes frames as they come, and then what is known of them; returns how many there were.

    Args:
        folder: New, or empty.
        frames: Far to near, 0 black and 1 white.
        describe: Called at the end; returns the Recording.

    Raises:
        FileError: If there is something in the folder already.
    """
    with locked(folder):
        if any(one.name != LOCK for one in folder.iterdir()):
            raise FileError(f"{folder} is not empty: a recording has a folder of its own")
        names: list[str] = []
        for at, frame in enumerate(frames):
            codes = np.rint(np.clip(frame, 0, 1) * WHITE).astype(np.uint16)
            endings = ("",) if len(codes) == 1 else ("_left", "_right")
            for ending, view in zip(endings, codes, strict=True):
                _write(folder / f"slice_{at:04d}{ending}.png", to_png(view))
            names.append(f"slice_{at:04d}{endings[0]}.png")
        known = describe()
        numbers = known.dioptres if known.grid.known else known.positions
        if numbers:
            lines = [f"{name},{number!r}" for name, number in zip(names, numbers, strict=True)]
            _write(folder / POSITIONS, "\n".join(["name,position", *lines, ""]).encode())
        _write(folder / RECORDING, f"{json.dumps(known.to_json(), indent=1)}\n".encode())
    return len(names)


def _write(path: Path, data: bytes) -> None:
    write_file(path, lambda file: file.write(data))
