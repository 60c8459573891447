"""A telescope's camera and focuser on an INDI server, astronomy's standard for such devices.

    with IndiCamera("localhost", 7624, "CCD Simulator", "Focuser Simulator", exposure_s=2.0) as camera:
        dioptre.Autofocus(camera).run()

Positions are steps of the focuser (`ABS_FOCUS_POSITION`), from its lowest to its highest. **Far and near are
not known**: a focuser counts outwards by INDI's convention, and a drawtube farther out focuses nearer
objects, so the lowest position is the far end unless the motor is mounted or set the other way
round. Stars are all at infinity. So the grid does not tell whether later positions focus nearer.

A frame is used only if it was taken where the lens was sent: the driver writes the focuser's position into
the card FOCUSPOS of the picture's header. A picture that says another position is dropped, and another one
waited for or exposed. A driver that does not write the card cannot prove it; then a picture counts if it
came after the exposure was begun, which was after the focuser had arrived.

A driver that crashes is restarted by its server: the adapter connects it again, sets it up again, and goes
on. No library is needed: the protocol is XML over TCP (`indi_client`), a picture is FITS (`fits`). Either
half can be paired with something else: `indi_ccd` takes pictures, `indi_focuser` is a lens.
"""

from typing import Final

import numpy as np

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.device_base import POSITIONS, Held, split_address
from dioptre.cameras.fits import Cards
from dioptre.cameras.indi_ccd import EXPOSURE_S, IndiCcd, check_exposure
from dioptre.cameras.indi_client import IndiClient, once_more
from dioptre.cameras.indi_focuser import TIMEOUT_S, UNIT, IndiFocuser
from dioptre.errors import InputError
from dioptre.grid import FocusGrid, Numbers

PORT: Final = 7624  # INDI's own
FORM: Final = "HOST:PORT/CCD/FOCUSER?exposure=SECONDS"


class IndiCamera(Held):
    """A CCD and a focuser of an INDI server as one camera.

    Attributes:
        grid: Positions of the focuser, in steps.
        ccd: The camera.
        focuser: The focuser.
    """

    views = 1
    continuous = True
    step = IndiFocuser.step

    def __init__(
        self,
        host: str = "localhost",
        port: int = PORT,
        ccd: str = "",
        focuser: str = "",
        *,
        positions: Numbers | None = None,
        exposure_s: float = EXPOSURE_S,
        region: tuple[int, int, int, int] | None = None,
        black: float = 0.0,
        white: float | None = None,
        settle_s: float = 0.0,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Connects both devices and takes a first picture, which says how large pictures are.

        Args:
            host: Where the server is.
            port: Its port.
            ccd: The camera's name; the only one by default.
            focuser: The focuser's name; the only one by default.
            positions: Steps of the focuser, in order; by default 1001 from the lowest to the highest.
            exposure_s: Seconds of an exposure.
            region: (x, y, w, h) of the sensor, in its pixels; all of it by default.
            black: Counts of black.
            white: Counts of white; by default the highest that the camera's bits allow.
            settle_s: Seconds to wait after the focuser has said that it has arrived.
            timeout_s: How long nothing may happen: of a move, as long as the position does not change; of
                an exposure, beyond its own time.

        Raises:
            InputError: If a setting cannot be used.
            CameraError: If the server, a device or the picture is not what is needed.
        """
        check_exposure(exposure_s)
        self._client = IndiClient(host, port, timeout_s)
        try:
            self.focuser = IndiFocuser(self._client, focuser, settle_s=settle_s, timeout_s=timeout_s)
            self.ccd = IndiCcd(
                self._client,
                ccd,
                focuser=self.focuser.name,
                exposure_s=exposure_s,
                region=region,
                black=black,
                white=white,
                timeout_s=timeout_s,
            )
            self.grid = self._grid(positions)
        except BaseException:
            self._client.close()
            raise

    def close(self) -> None:
        """Ends the connection; the devices stay as they are."""
        self._client.close()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return self.ccd.shape

    @property
    def where(self) -> tuple[float, float] | None:
        """The centre of the region in the whole sensor; None if it is all of it."""
        return self.ccd.where

    @property
    def header(self) -> Cards:
        """The cards of the last picture that was used."""
        return self.ccd.header

    def abort(self) -> None:
        """Makes a capture in another thread stop what moves or exposes, and raise CameraError."""
        self._client.abort()

    def capture(self, index: int) -> Frame:
        """Moves the focuser, and returns a frame that was exposed there."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position in whole steps, the nearest one."""
        steps = float(round(self.grid.check(position)))
        return once_more(self._client, lambda: self._look(steps), self._set_up)

    def _look(self, steps: float) -> Frame:
        self.focuser.go(steps)
        return self.ccd.frame_at(steps)

    def _set_up(self) -> None:
        self.focuser.set_up()
        self.ccd.set_up()

    def _grid(self, positions: Numbers | None) -> FocusGrid:
        """Returns a grid of positions that the focuser can all go to."""
        if positions is None:
            low, high = self.focuser.limits
            return FocusGrid(np.unique(np.rint(np.linspace(low, high, POSITIONS))), UNIT)
        grid, (low, high) = FocusGrid(positions, UNIT), self.focuser.range
        first, last = sorted(grid.positions[[0, -1]].tolist())
        if not (low <= first and last <= high):
            raise InputError(
                f"{self.focuser.name} goes from {low:g} to {high:g} steps, not to {first:g} or {last:g}"
            )
        return grid


def open_device(address: str) -> IndiCamera:
    """Returns the camera and the focuser at HOST:PORT/CCD/FOCUSER, each part of which may be left out.

    `?exposure=SECONDS` at the end sets the exposure.

    Raises:
        InputError: If it is no such address.
        CameraError: If there is nothing there.
    """
    host, port, ccd, focuser, exposure_s = parse_address(address)
    return IndiCamera(host, port, ccd, focuser, exposure_s=exposure_s)


def open_source(address: str) -> IndiCcd:
    """Returns the camera at such an address alone, which takes pictures; raises the same."""
    host, port, ccd, _, exposure_s = parse_address(address)
    client = IndiClient(host, port, TIMEOUT_S)
    try:
        return IndiCcd(client, ccd, exposure_s=exposure_s)
    except BaseException:
        client.close()
        raise


def open_lens(address: str) -> IndiFocuser:
    """Returns the focuser at such an address alone, which is a lens; raises the same."""
    host, port, _, focuser, _ = parse_address(address)
    client = IndiClient(host, port, TIMEOUT_S)
    try:
        return IndiFocuser(client, focuser)
    except BaseException:
        client.close()
        raise


def parse_address(address: str) -> tuple[str, int, str, str, float]:
    """Returns the host, the port, the names of camera and focuser, and the exposure in seconds.

    Raises:
        InputError: If it is no such address.
    """
    place, settings = split_address(address, {"exposure": EXPOSURE_S}, FORM)
    server, _, devices = place.partition("/")
    ccd, _, focuser = devices.partition("/")
    host, colon, port = server.rpartition(":")
    host, port = (host, port) if colon else (port, str(PORT))
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InputError(f"such a device is {FORM}, not {address!r}")
    return host.strip("[]") or "localhost", int(port), ccd, focuser, settings["exposure"]
