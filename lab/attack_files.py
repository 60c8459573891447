"""What becomes of a clean sweep in every container and form in which people have one: `python -m lab.attack`.

A sweep of 31 slices is drawn, sharp at one, and written in each form. A form is easy where the answer is to
be found, and else it is to be refused: a pipe, times, phases. So an input ends in one of four ways.

    right    the slice that is sharp is focused, or what cannot be answered is refused in a sentence
    wrong    another one is called focused, or something is where nothing tells the focus
    refused  it is easy, and uncertain, failed or refused
    crashed  anything but a sentence: another error, exit code 70, a hang
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
import tifffile
from jaxtyping import Float32, UInt8
from scipy.ndimage import gaussian_filter

import dioptre
from dioptre.errors import DioptreError
from dioptre.simulate.texture import dead_leaves

SLICES: Final = 31
SIDE: Final = 128
HANGS_S: Final = 60.0
NEXT_TO: Final = 1  # slices that an answer may be off
OUTCOMES: Final = ("right", "wrong", "refused", "crashed")

Sweep = UInt8[np.ndarray, "slice row col"]
Written = Any  # what `focus` takes


class HangError(BaseException):
    """It took too long; no error that a reader might take for one of the system's."""


@dataclass(frozen=True)
class Form:
    """A form in which a sweep is handed over.

    Attributes:
        kind: What is unusual in it.
        name: Which form of that kind.
        write: Writes a sweep into an empty folder, and returns what `focus` takes.
        easy: Whether the sharp slice is to be found; else it is to be refused.
        how: Arguments of `focus`.
        needs: A library without which the form is left out.
    """

    kind: str
    name: str
    write: Callable[[Path, Sweep], Written]
    easy: bool = True
    how: Mapping[str, Any] = field(default_factory=dict)
    needs: str = "cv2"


def draw_sweep(rng: np.random.Generator) -> tuple[Sweep, int]:
    """Returns a clean sweep and the slice that is sharp, which is none of the outermost."""
    texture = dead_leaves(SIDE, SIDE, rng)
    texture = (texture - texture.min()) / np.ptp(texture)
    sharp = int(rng.integers(5, SLICES - 5))
    blurred = [gaussian_filter(texture, 0.3 + 0.4 * abs(at - sharp)) for at in range(SLICES)]
    noisy = 30 + 190 * np.stack(blurred) + rng.normal(0, 1.0, (SLICES, SIDE, SIDE))
    return np.clip(np.round(noisy), 0, 255).astype(np.uint8), sharp


# How sweeps are written


def _folder(folder: Path, sweep: Sweep, name: Callable[[int], str], shown: Any = None) -> Path:
    for at, picture in enumerate(sweep):
        path = folder / name(at)
        content = cv2.imencode(path.suffix, picture if shown is None else shown(picture))[1].tobytes()
        path.write_bytes(content)
    return folder


def _named(name: Callable[[int], str]) -> Callable[[Path, Sweep], Written]:
    return lambda folder, sweep: _folder(folder, sweep, name)


def _in_colour(suffix: str, colours: Sequence[int]) -> Callable[[Path, Sweep], Written]:
    """Returns how a folder of pictures is written that have a signal in some colours, blue first."""

    def shown(picture: UInt8[np.ndarray, "row col"]) -> UInt8[np.ndarray, "row col 3"]:
        return np.stack([picture if at in colours else 0 * picture for at in range(3)], axis=-1)

    return lambda folder, sweep: _folder(folder, sweep, lambda at: f"f{at}{suffix}", shown)


def _tiff(**options: Any) -> Callable[[Path, Sweep], Written]:
    def write(folder: Path, sweep: Sweep) -> Path:
        told = {"photometric": "minisblack"} | options
        tifffile.imwrite(folder / "s.tif", sweep, **told)
        return folder / "s.tif"

    return write


def _palette(colour: int | None) -> Callable[[Path, Sweep], Written]:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)
    colours = np.stack([ramp if colour in (None, at) else 0 * ramp for at in range(3)])
    return _tiff(photometric="palette", colormap=colours)


def _array(change: Callable[[Float32[np.ndarray, "slice row col"]], Any]) -> Callable[[Path, Sweep], Written]:
    return lambda _, sweep: change(sweep.astype(np.float32) / 255)


def _saved(suffix: str) -> Callable[[Path, Sweep], Written]:
    def write(folder: Path, sweep: Sweep) -> Path:
        path = folder / f"s{suffix}"
        if suffix == ".npy":
            np.save(path, sweep)
        else:
            np.savez_compressed(path, stack=sweep)
        return path

    return write


def _film(folder: Path, sweep: Sweep) -> Path:
    film = cv2.VideoWriter(str(folder / "s.mkv"), cv2.VideoWriter.fourcc(*"FFV1"), 10, (SIDE, SIDE))
    for picture in sweep:
        film.write(cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR))
    film.release()
    return folder / "s.mkv"


def _zarr(folder: Path, sweep: Sweep) -> Path:
    import_module("zarr").create_array(str(folder / "s.zarr"), data=sweep, chunks=(1, SIDE, SIDE))
    return folder / "s.zarr"


def _czi(compression: str, axis: str = "Z", scene: int = 0) -> Callable[[Path, Sweep], Written]:
    def write(folder: Path, sweep: Sweep) -> Path:
        library = import_module("pylibCZIrw.czi")
        with library.create_czi(str(folder / "s.czi"), compression_options=compression) as file:
            for at, picture in enumerate(sweep):
                file.write(data=picture[..., None], plane={axis: at}, scene=scene)
            file.write_metadata("s", scale_z=5e-7)
        return folder / "s.czi"

    return write


def _pipe(suffix: str, beside: bool = False) -> Callable[[Path, Sweep], Written]:
    """Returns how a pipe is made: in the place of a file, or of one of the pictures of a folder."""

    def write(folder: Path, sweep: Sweep) -> Path:
        path = folder / f"f3{suffix}"
        if beside:
            _folder(folder, sweep, lambda at: f"f{at}{suffix}")
            path.unlink()
        os.mkfifo(path)
        return folder if beside else path

    return write


def _paths(as_text: bool) -> Callable[[Path, Sweep], Written]:
    def write(folder: Path, sweep: Sweep) -> list[Any]:
        files = sorted(_folder(folder, sweep, lambda at: f"f{at:02}.png").iterdir())
        return [str(file) if as_text else file for file in files]

    return write


def _unlike(folder: Path, sweep: Sweep) -> list[Any]:  # noqa: ARG001  # as all of these
    return [*sweep[:-1], sweep[-1, :-1]]


NAMES: Final[Mapping[str, Callable[[int], str]]] = {
    "numbers": lambda at: f"frame{at}.png",
    "numbers of two places": lambda at: f"frame{at:02}.png",
    "hexadecimal": lambda at: f"z{at:x}.png",
    "hexadecimal of two places": lambda at: f"z{at:02x}.png",
    "hexadecimal, upper case": lambda at: f"SLICE_{at:02X}.png",
    "hexadecimal from z0a": lambda at: f"z{at + 10:02x}.png",
    "negative": lambda at: f"z{at - 15}.png",
    "negative after a blank": lambda at: f"z {at - 15}.png",
    "with signs": lambda at: f"z{at - 15:+d}.png",
    "decimals": lambda at: f"z{at / 10}.png",
    "decimals of two places": lambda at: f"z{at / 10:.2f}.png",
    "negative decimals": lambda at: f"z{(at - 15) / 10}.png",
    "whole numbers after a dot": lambda at: f"z0.{at + 1}.png",
    "dates before": lambda at: f"2026-11-19_z{at}.png",
    "with a unit": lambda at: f"z_{at / 2:g}um.png",
    "no ending like another's": lambda at: f"f{at}.{'png' if at % 2 else 'PNG'}",
}

FORMS: Final = (
    *(Form("names", name, _named(called)) for name, called in NAMES.items()),
    Form("axes", "times of an OME-TIFF", _tiff(ome=True, metadata={"axes": "TYX"}), easy=False),
    Form("axes", "times of ImageJ", _tiff(imagej=True, metadata={"axes": "TYX"}), easy=False),
    Form("axes", "times, insisted on", _tiff(ome=True, metadata={"axes": "TYX"}), how={"focus_along": "T"}),
    Form("axes", "times of Zeiss", _czi("zstd1:", "T"), easy=False, needs="pylibCZIrw"),
    Form("axes", "slices of an OME-TIFF", _tiff(ome=True, metadata={"axes": "ZYX"})),
    Form("axes", "slices of ImageJ", _tiff(imagej=True, metadata={"axes": "ZYX"})),
    Form("axes", "pages that nobody has named", _tiff(metadata=None)),
    Form("axes", "pages as tifffile names them for ImageJ", _tiff(imagej=True)),
    Form("Zeiss", "raw", _czi("uncompressed:"), needs="pylibCZIrw"),
    Form("Zeiss", "zstd", _czi("zstd0:ExplicitLevel=2"), needs="pylibCZIrw"),
    Form("Zeiss", "zstd of bytes apart", _czi("zstd1:PreProcess=HiLoByteUnpack"), needs="pylibCZIrw"),
    Form("Zeiss", "one scene, the third", _czi("zstd1:", scene=2), needs="pylibCZIrw"),
    *(Form("containers", suffix, _saved(suffix)) for suffix in (".npy", ".npz")),
    *(
        Form("containers", f"folder of {suffix}", _named(lambda at, end=suffix: f"f{at}{end}"))  # type: ignore[misc]
        for suffix in (".png", ".jpg", ".tif", ".bmp", ".pgm", ".webp")
    ),
    Form("containers", "TIFF, zlib", _tiff(compression="zlib")),
    Form("containers", "BigTIFF", _tiff(bigtiff=True)),
    Form("containers", "film", _film),
    Form("containers", "Zarr", _zarr, needs="zarr"),
    *(
        Form("colours", f"{name}, {suffix}", _in_colour(suffix, colours))
        for name, colours in (("blue", (0,)), ("green", (1,)), ("red", (2,)), ("blue and red", (0, 2)))
        for suffix in (".png", ".jpg", ".tif")
    ),
    Form("colours", "grey palette", _palette(None)),
    Form("colours", "blue palette", _palette(2)),
    Form("floats", "-1 to 1", _array(lambda stack: 2 * stack - 1)),
    Form("floats", "-1 to 1, white told", _array(lambda stack: 2 * stack - 1), how={"white": 1.0}),
    Form("floats", "about 0", _array(lambda stack: (stack - stack.mean()) / stack.std())),
    Form("floats", "all below 0", _array(lambda stack: stack - 2)),
    Form("floats", "0 to 1", _array(lambda stack: stack)),
    Form("floats", "codes of 12 bits", _array(lambda stack: 4095 * stack)),
    Form(
        "floats", "signed, of 32 bits", _array(lambda stack: np.round(1e6 * (stack - 0.5)).astype(np.int32))
    ),
    Form("lists", "of paths", _paths(as_text=False)),
    Form("lists", "of texts", _paths(as_text=True)),
    Form("lists", "of arrays", lambda _, sweep: list(sweep)),
    Form("lists", "of arrays that are not alike", _unlike, easy=False),
    *(
        Form("pipes", f"called {suffix}", _pipe(suffix), easy=False)
        for suffix in (".png", ".tif", ".npy", ".npz", ".mkv", ".nd2", ".czi")
    ),
    Form("pipes", "among pictures", _pipe(".png", beside=True), easy=False),
)

# Where and how `dioptre focus` is started: what it says is read by machines that know fewer letters.
TERMINALS: Final[Mapping[str, tuple[Mapping[str, str], str]]] = {
    "cp1252": ({"PYTHONIOENCODING": "cp1252"}, ""),
    "C locale": ({"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, ""),
    "COLUMNS=0": ({"COLUMNS": "0"}, ""),
    "stdout closed": ({}, ">&-"),
    "stderr closed": ({}, "2>&-"),
    "both closed": ({}, ">&- 2>&-"),
}
ESCAPE: Final = "\x1b[31m"


# What becomes of them


def outcome(form: Form, sweep: Sweep, sharp: int) -> str:
    """Returns how a form of a sweep ends."""
    with tempfile.TemporaryDirectory() as folder, _alarm():
        try:
            result = dioptre.focus(form.write(Path(folder), sweep), **form.how)
        except DioptreError:
            return "refused" if form.easy else "right"
        except (Exception, HangError):
            return "crashed"
    if result.state != "focused":
        return "refused" if form.easy else "right"
    return "right" if form.easy and abs(result.index - sharp) <= NEXT_TO else "wrong"


def outcome_of_terminal(name: str, sweep: Sweep, sharp: int) -> str:
    """Returns how the command ends that is told a sweep whose names would move a terminal."""
    environment, closed = TERMINALS[name]
    with tempfile.TemporaryDirectory() as folder:
        _folder(Path(folder), sweep, lambda at: f"µ{ESCAPE}_z{at}.png")
        line = f'exec "{sys.executable}" -m dioptre focus "{folder}" {closed}'
        try:
            said = subprocess.run(  # noqa: S603  # our own words
                ["/bin/sh", "-c", line],
                env=os.environ | environment,
                capture_output=True,
                check=False,
                timeout=HANGS_S,
            )
        except subprocess.TimeoutExpired:
            return "crashed"
    text = (said.stdout + said.stderr).decode("utf-8", "replace")
    if said.returncode not in (0, 1, 2) or "Traceback" in text or ESCAPE in text:
        return "crashed"
    found = "stdout" in name or "both" in name or f"slice {sharp} of" in text
    return "refused" if said.returncode else "right" if found else "wrong"


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attack_files(sweeps: int, seed: int, seconds: float = float("inf")) -> list[dict[str, Any]]:
    """Returns a row for each kind of form: how many were tried, and how they ended.

    Args:
        sweeps: How many are drawn, each of which is written in every form.
        seed: Of the sweeps.
        seconds: After which no other form is begun.
    """
    begun, rng = time.monotonic(), np.random.default_rng(seed)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    which: dict[str, list[str]] = defaultdict(list)
    for _ in range(sweeps):
        sweep, sharp = draw_sweep(rng)
        tried = [(one.kind, one.name, partial(outcome, one)) for one in FORMS if find_spec(one.needs)]
        tried += [("terminals", name, partial(outcome_of_terminal, name)) for name in TERMINALS]
        for at in rng.permutation(len(tried)):
            kind, name, end = tried[at]
            if time.monotonic() - begun < seconds:
                ended = end(sweep, sharp)
                found[kind][ended] += 1
                which[kind] += [] if ended == "right" else [f"{name}: {ended}"]
    return [
        {"kind": kind, "tried": ends.total()}
        | {one: ends[one] for one in OUTCOMES}
        | {"which": sorted(set(which[kind]))}
        for kind, ends in sorted(found.items())
    ]


def told_of_files(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the table, with all forms in its last row and what did not end well below."""
    every = {name: sum(row[name] for row in rows) for name in ("tried", *OUTCOMES)}
    lines = [f"{'form':<24}" + "".join(f"{name:>9}" for name in every)]
    told = [*rows, {"kind": "all", **every}]
    lines += [f"{row['kind']:<24}" + "".join(f"{row[name]:>9}" for name in every) for row in told]
    lines += [f"{row['kind']}: {one}" for row in rows for one in row["which"]]
    return "\n".join(lines)
