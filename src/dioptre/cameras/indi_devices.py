"""The camera and the focuser on an INDI server: finding, connecting and setting them up."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dioptre.cameras.indi_client import IndiClient, LostError
from dioptre.errors import CameraError, CameraTimeoutError, InputError

CCD: Final = 1 << 1  # bits of DRIVER_INTERFACE
FOCUSER: Final = 1 << 3
KINDS: Final = {CCD: "camera", FOCUSER: "focuser"}
WIDEST: Final = 1e6  # pixels
QUIET_S: Final = 2.0  # without a new device or property: all that there are have told of themselves
LONGEST_S: Final = 30.0  # and so long at most, however many there are
LAST_S: Final = 0.2  # ... after the first one of a kind
SWITCHES: Final = {  # of a camera that has them: the picture is sent here, as FITS, as it is
    "UPLOAD_MODE": "UPLOAD_CLIENT",
    "CCD_TRANSFER_FORMAT": "FORMAT_FITS",
    "CCD_COMPRESSION": "INDI_DISABLED",
}


def find_device(client: IndiClient, name: str, interface: int) -> str:
    """Returns the name of a device; without one, that of the only device of its kind.

    Raises:
        CameraError: If there is none; it lists what there is.
        InputError: If there are several to choose from.
    """

    def found() -> bool | None:
        there = "CONNECTION" in client.devices.get(name, {}) if name else bool(of_kind(client, interface))
        return there or None

    def properties() -> int:
        return sum(map(len, client.devices.values()))

    kind = KINDS[interface]
    try:
        client.wait(found, kind, QUIET_S, properties, LONGEST_S)
        client.pause(0.0 if name else LAST_S)
    except CameraTimeoutError:
        wanted = f"device {name!r}" if name else kind
        raise CameraError(f"{client.name} has no {wanted}: there is {_listed(client, interface)}") from None
    if not name and len(of_kind(client, interface)) > 1:
        raise InputError(f"{client.name} has several, say which {kind}: {_listed(client, interface)}")
    return name or of_kind(client, interface)[0]


def of_kind(client: IndiClient, interface: int) -> list[str]:
    """Returns the devices that say that they are of a kind."""
    return sorted(
        device
        for device, vectors in client.devices.items()
        if "DRIVER_INFO" in vectors and _interface(vectors["DRIVER_INFO"].values) & interface
    )


def _interface(told: dict[str, str]) -> int:
    digits = told.get("DRIVER_INTERFACE", "")
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 0


def _listed(client: IndiClient, interface: int) -> str:
    """Returns the devices of a kind, or if there are none, all devices, for an error."""
    names = of_kind(client, interface) or sorted(client.devices)
    return ", ".join(names) or "nothing"


def is_connected(client: IndiClient, device: str) -> bool:
    """Returns whether a driver says that its hardware is connected."""
    vector = client.devices.get(device, {}).get("CONNECTION")
    return vector is not None and vector.state != "Busy" and vector.values.get("CONNECT") == "On"


@contextmanager
def attended(client: IndiClient, device: str, stop: Callable[[], None]) -> Iterator[None]:
    """Lets a device work while it is connected, and stops it if anything but a loss goes wrong.

    Raises:
        LostError: If it is not connected, or went away.
    """
    if not is_connected(client, device):
        raise LostError(f"{device} is not connected any more")
    try:
        yield
    except LostError:
        raise
    except CameraError:
        stop()
        raise


def connect_device(client: IndiClient, device: str, needed: Sequence[str], timeout_s: float) -> None:
    """Connects the hardware of a driver, and returns when it has the properties that are needed.

    Raises:
        CameraError: If it cannot, or does not, in time.
    """
    _until(client, device, "CONNECTION", timeout_s)
    if not is_connected(client, device):
        client.set(device, "CONNECTION", {"CONNECT": "On"})

    def connected() -> bool | None:
        if client.vector(device, "CONNECTION").state == "Alert":
            why = client.complaints.get(device, "it does not say why")
            raise CameraError(f"{device} could not be connected: {why}")
        return is_connected(client, device) or None

    client.wait(connected, f"the connection of {device}", timeout_s)
    for name in needed:
        _until(client, device, name, timeout_s)


def _until(client: IndiClient, device: str, name: str, timeout_s: float) -> None:
    """Waits until a device has told of a property."""
    client.wait(lambda: client.devices.get(device, {}).get(name), f"{name} of {device}", timeout_s)


def prepare_camera(client: IndiClient, ccd: str, focuser: str, timeout_s: float) -> None:
    """Lets a camera send its pictures here as FITS, with the position of a focuser, if one is named."""
    client.want_blobs(ccd)
    if focuser:
        _change(client, ccd, "ACTIVE_DEVICES", {"ACTIVE_FOCUSER": focuser}, timeout_s)
    for name, switch in SWITCHES.items():
        _change(client, ccd, name, {switch: "On"}, timeout_s)


def _change(client: IndiClient, device: str, name: str, values: dict[str, str], timeout_s: float) -> None:
    """Sets values that a device has and that are not so yet."""
    vector = client.devices.get(device, {}).get(name)
    if vector is None or not values.items() - vector.values.items() or values.keys() - vector.values.keys():
        return
    client.set(device, name, values)
    client.wait(lambda: vector.state != "Busy" or None, f"{name} of {device}", timeout_s)


def set_region(
    client: IndiClient, ccd: str, region: tuple[int, int, int, int] | None, timeout_s: float
) -> None:
    """Lets a camera send a part of its sensor, or all of it: another program may have left it with a part.

    Raises:
        CameraError: If it does not have that part.
    """
    info = client.vector(ccd, "CCD_INFO")
    client.wait(lambda: info.number("CCD_MAX_X") > 0 or None, f"the size of {ccd}", timeout_s)
    size = info.number("CCD_MAX_X"), info.number("CCD_MAX_Y")
    if not all(1 <= one <= WIDEST for one in size):
        raise CameraError(f"{ccd} says that it has {size[0]:g} x {size[1]:g} pixels")
    across, down = int(size[0]), int(size[1])
    x, y, w, h = region or (0, 0, across, down)
    if min(x, y, w - 1, h - 1) < 0 or x + w > across or y + h > down:
        raise CameraError(f"{ccd} has {across} x {down} pixels, not the region {region}")
    if region is not None or "CCD_FRAME" in client.devices.get(ccd, {}):
        values = {"X": float(x), "Y": float(y), "WIDTH": float(w), "HEIGHT": float(h)}
        vector = client.set(ccd, "CCD_FRAME", values)
        client.wait(lambda: vector.state != "Busy" or None, f"CCD_FRAME of {ccd}", timeout_s)
