"""Devices: cameras by their address, as `--device` takes it.

An address is `scheme:rest`, such as `simulated:1` or `indi:localhost:7624/CCD/FOCUSER`; what follows the
first colon is the adapter's own business and may be left out. An adapter's module, and with it the SDK that
its extra brings, is imported when its scheme is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from dioptre.cameras.base import OpenedCamera
from dioptre.errors import InputError


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
    )
}


def open_device(address: str) -> OpenedCamera:
    """Returns the camera at an address, open; leaving its context closes it.

    Raises:
        InputError: If nothing has such an address.
        MissingExtraError: If the adapter needs a library that is not there.
        CameraError: If the hardware does not answer.
    """
    scheme, _, rest = address.partition(":")
    if scheme not in SCHEMES:
        forms = ", ".join(one.form for one in SCHEMES.values())
        raise InputError(f"a device is one of {forms}, not {address!r}")
    try:
        module = import_module(f"dioptre.cameras.{scheme}")
    except ModuleNotFoundError as error:
        if error.name != f"dioptre.cameras.{scheme}":
            raise
        raise InputError(f"this dioptre has no adapter for {scheme}") from None
    device: OpenedCamera = module.open_device(rest)
    return device
