"""Devices: cameras by their address, as `--device` takes it.

An address is `scheme:rest`, such as `simulated:1` or `indi:localhost:7624/CCD/FOCUSER`; what follows the
first colon is the adapter's own business and may be left out. An adapter's module, and with it the SDK that
its extra brings, is imported when its scheme is asked for.

Where a camera and a lens are two devices, each has an address of its own: of a device of which only this half
is used, or of what a person has written, FILE.py:NAME.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dioptre.cameras.base import OpenedCamera
from dioptre.cameras.own_file import is_own, load_lens, load_own
from dioptre.cameras.pair import PairedCamera
from dioptre.errors import InputError

PAIR: Final = "pair"


@dataclass(frozen=True)
class Scheme:
    """A kind of camera that can be opened.

    Attributes:
        form: How its addresses look.
        what: What it is, in a few words.
    """

    form: str
    what: str

    @property
    def name(self) -> str:
        """What its addresses begin with, and the module that opens them."""
        return self.form.partition(":")[0]


SCHEMES: Final[Mapping[str, Scheme]] = {
    one.name: one
    for one in (
        Scheme("replay:STACK", "a recorded stack"),
        Scheme("simulated:SEED", "a simulated phone before a random scene"),
        Scheme("indi:HOST:PORT/CCD/FOCUSER", "a telescope's camera and focuser on an INDI server"),
        Scheme("micromanager:demo", "Micro-Manager's demo devices, or those of micromanager:CFG"),
        Scheme("picamera2", "a Raspberry Pi camera"),
        Scheme("opencv:0", "a webcam with a focus motor"),
        Scheme(f"{PAIR}:CAMERA+LENS", "any camera and any lens as one"),
    )
}


def open_device(
    address: str,
    lens: str | None = None,
    *,
    limits: Sequence[float | int] | None = None,
    unit: str | None = None,
) -> OpenedCamera:
    """Returns the camera at an address, open; leaving its context closes it.

    Args:
        address: Of the camera.
        lens: Of the lens, if that is another device: an address, or FILE.py:NAME.
        limits: The lowest and the highest position of a lens whose file tells none.
        unit: What its positions are counted in, likewise.

    Raises:
        InputError: If nothing has such an address.
        FileError: If a file cannot be used.
        MissingExtraError: If the adapter needs a library that is not there.
        CameraError: If the hardware does not answer.
    """
    if lens is None and address.startswith(f"{PAIR}:"):
        address, lens = split_pair(_rest(address))
    if lens is not None:
        return open_pair(address, lens, limits, unit)
    if is_own(address):
        raise InputError(f"{address} takes pictures only: say which lens goes with it (--lens, lens=)")
    if unit is not None:
        raise InputError(f"a unit is told of a lens of your own, which {address} has not: it tells its unit")
    device: OpenedCamera = _adapter(address).open_device(_rest(address))
    return device


def open_pair(
    camera: str, lens: str, limits: Sequence[float | int] | None = None, unit: str | None = None
) -> OpenedCamera:
    """Returns the pictures of one device with the lens of another as a camera; see `open_device`.

    A device that is paired with its own lens is that device: hardware cannot be opened twice.
    """
    if camera == lens and not is_own(lens):
        return open_device(camera)
    held = ExitStack()
    try:
        moved = _kept(open_lens(lens, limits, unit), held)
        paired = PairedCamera(_kept(open_source(camera), held), moved, closes=held.close)
        if unit not in (None, paired.grid.unit):
            raise InputError(f"the lens {lens} counts in {paired.grid.unit}, not in {unit}")
    except BaseException:
        held.close()
        raise
    return paired


def open_source(address: str) -> Any:
    """Returns a callable that takes pictures, or a camera, whose lens shall stand still."""
    return load_own(address) if is_own(address) else _open_half(address, "open_source")


def open_lens(address: str, limits: Sequence[float | int] | None = None, unit: str | None = None) -> Any:
    """Returns a lens, or a camera, whose pictures nobody wants; limits and unit as told, if it tells none."""
    return load_lens(address, limits, unit) if is_own(address) else _open_half(address, "open_lens")


def _open_half(address: str, how: str) -> Any:
    """Returns half of a device if it can be opened by halves, or else all of it."""
    opened = getattr(_adapter(address), how, None)
    return open_device(address) if opened is None else opened(_rest(address))


def split_pair(address: str) -> tuple[str, str]:
    """Returns the camera and the lens of CAMERA+LENS; a + that no address follows is part of a name.

    Raises:
        InputError: If these are no two.
    """
    parts = address.split("+")
    pairs = [("+".join(parts[:at]), "+".join(parts[at:])) for at in range(1, len(parts))]
    known = [pair for pair in pairs if pair[1].partition(":")[0] in SCHEMES or is_own(pair[1])]
    if not known:
        raise InputError(
            f"a pair is pair:CAMERA+LENS, such as pair:opencv:0+my_lens.py:move, not {address!r}"
        )
    return known[-1]


def _kept(half: Any, stack: ExitStack) -> Any:
    """Returns a half of a camera, which is closed in the end if it can be."""
    if hasattr(half, "__exit__"):
        stack.enter_context(half)
    elif hasattr(half, "close"):
        stack.callback(half.close)
    return half


def _rest(address: str) -> str:
    return address.partition(":")[2]


def _adapter(address: str) -> ModuleType:
    """Returns the module of an address's scheme."""
    scheme = address.partition(":")[0]
    if scheme not in SCHEMES:
        forms = ", ".join(one.form for one in SCHEMES.values())
        raise InputError(f"a device is one of {forms}, not {address!r}")
    try:
        return import_module(f"dioptre.cameras.{scheme}")
    except ModuleNotFoundError as error:
        if error.name != f"dioptre.cameras.{scheme}":
            raise
        raise InputError(f"this dioptre has no adapter for {scheme}") from None
