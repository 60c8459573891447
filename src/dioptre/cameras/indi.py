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
on. No library is needed: the protocol is XML over TCP (`indi_client`), a picture is FITS (`fits`).
"""

import math
import zlib
from contextlib import suppress
from typing import Final

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.device_base import POSITIONS, Held, split_address
from dioptre.cameras.fits import Cards, Counts, read_fits
from dioptre.cameras.indi_client import Blob, IndiClient, LostError
from dioptre.cameras.indi_devices import (
    CCD,
    FOCUSER,
    connect_device,
    find_device,
    is_connected,
    prepare_camera,
    set_region,
)
from dioptre.errors import CameraError, InputError
from dioptre.grid import FocusGrid, Numbers
from dioptre.resources import largest_bytes
from dioptre.stacks.bayer import GREENS, mean_green

PORT: Final = 7624  # INDI's own
UNIT: Final = "steps"
TIMEOUT_S: Final = 30.0
EXPOSURE_S: Final = 1.0
EXPOSURES: Final = 3  # at most, before a camera that only sends pictures from elsewhere is given up
HALF_A_STEP: Final = 0.5
FORM: Final = "HOST:PORT/CCD/FOCUSER?exposure=SECONDS"


class IndiCamera(Held):
    """A CCD and a focuser of an INDI server as one camera.

    Attributes:
        grid: Positions of the focuser, in steps.
        header: The cards of the last picture that was used.
    """

    views = 1
    continuous = True
    step = 1.0  # focusers count whole steps

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
        if not (math.isfinite(exposure_s) and exposure_s > 0):
            raise InputError(f"an exposure takes a positive number of seconds, not {exposure_s:g}")
        self._exposure_s, self._settle_s, self._timeout_s = exposure_s, settle_s, timeout_s
        self._black, self._white, self._region = black, white, region
        self.header: Cards = {}
        self._client = IndiClient(host, port, timeout_s)
        try:
            self.ccd = find_device(self._client, ccd, CCD)
            self.focuser = find_device(self._client, focuser, FOCUSER)
            self._set_up()
            self.grid = self._grid(positions)
            self.shape: tuple[int, int] = self._expose(None).shape
        except BaseException:
            self._client.close()
            raise

    def close(self) -> None:
        """Ends the connection; the devices stay as they are."""
        self._client.close()

    @property
    def where(self) -> tuple[float, float] | None:
        """The centre of the region in the whole sensor; None if it is all of it."""
        if self._region is None:
            return None
        info = self._client.vector(self.ccd, "CCD_INFO")
        x, y, w, h = self._region
        across, down = info.number("CCD_MAX_X"), info.number("CCD_MAX_Y")
        return (2 * x + w) / across - 1, (2 * y + h) / down - 1

    def abort(self) -> None:
        """Makes a capture in another thread stop both devices and raise CameraError."""
        self._client.abort()

    def capture(self, index: int) -> Frame:
        """Moves the focuser, and returns a frame that was exposed there."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position in whole steps, the nearest one."""
        steps = float(round(self.grid.check(position)))
        try:
            self._client.begin()
            return self._look(steps)
        except LostError:
            # A driver that was restarted, or a connection that was cut: once more from the start.
            self._set_up()
            return self._look(steps)

    # One look

    def _look(self, steps: float) -> Frame:
        try:
            for device in (self.focuser, self.ccd):
                if not is_connected(self._client, device):
                    raise LostError(f"{device} is not connected any more")
            self._move(steps)
            counts = self._expose(steps)
        except LostError:
            raise
        except CameraError:
            self._stop()
            raise
        if counts.shape != self.shape:
            raise CameraError(
                f"{self.ccd} sent a frame of {counts.shape}, and before of {self.shape}: open it anew"
            )
        return self._to_frame(counts)

    def _move(self, steps: float) -> None:
        """Sends the focuser to a position and returns when it says that it is there."""
        client, device, name = self._client, self.focuser, "FOCUS_ABSOLUTE_POSITION"
        client.complaints.pop(device, None)
        client.set(device, "ABS_FOCUS_POSITION", {name: steps})

        def is_there() -> bool | None:
            vector = client.vector(device, "ABS_FOCUS_POSITION")
            if vector.state == "Alert":
                why = client.complaints.get(device, f"it stands at {vector.number(name):g}")
                raise CameraError(f"{device} refused position {steps:g}: {why}")
            arrived = vector.state != "Busy" and abs(vector.number(name) - steps) <= HALF_A_STEP
            return arrived or None

        def position() -> str:  # as text: what is not a number would differ from itself
            return client.vector(device, "ABS_FOCUS_POSITION").values.get(name, "")

        client.wait(is_there, f"the move of {device} to {steps:g}", self._timeout_s, position)
        client.pause(self._settle_s)

    def _expose(self, steps: float | None) -> Float32[np.ndarray, "row col"]:
        """Returns green of a picture that was taken at a position, or anywhere."""
        client, told = self._client, None
        client.blobs.clear()
        for _ in range(EXPOSURES):
            client.complaints.pop(self.ccd, None)
            client.set(self.ccd, "CCD_EXPOSURE", {"CCD_EXPOSURE_VALUE": self._exposure_s})
            while True:
                what = f"a picture from {self.ccd}"
                blob = client.wait(self._next_blob, what, self._exposure_s + self._timeout_s)
                cards, counts = read_fits(unpack(blob))
                told = cards.get("FOCUSPOS")
                if steps is None or not isinstance(told, float) or abs(told - steps) <= HALF_A_STEP:
                    self.header = cards
                    return to_green(cards, counts)
                if not client.blobs and client.vector(self.ccd, "CCD_EXPOSURE").state != "Busy":
                    break  # this was the picture of our exposure; otherwise ours is still to come
        raise CameraError(f"{self.ccd} says that its pictures were taken at {told:g}, not at {steps:g}")

    def _next_blob(self) -> Blob | None:
        """Returns the oldest picture of our camera that was not looked at yet."""
        blobs = self._client.blobs
        while blobs:
            if (blob := blobs.popleft()).device == self.ccd:
                return blob
        if self._client.vector(self.ccd, "CCD_EXPOSURE").state == "Alert":
            why = self._client.complaints.get(self.ccd, "it does not say why")
            raise CameraError(f"{self.ccd} refused to expose for {self._exposure_s:g} s: {why}")
        return None

    def _to_frame(self, counts: Float32[np.ndarray, "row col"]) -> Frame:
        """Returns counts as a frame, black 0 and white 1."""
        white = self._white
        if white is None:
            bits = self._client.vector(self.ccd, "CCD_INFO").number("CCD_BITSPERPIXEL")
            white = 2.0**bits - 1 if 1 <= bits <= 64 else math.nan
        if not white > self._black:
            raise CameraError(
                f"{self.ccd} tells no white ({white:g} counts, black is {self._black:g}): say it"
            )
        scaled = (counts - np.float32(self._black)) / np.float32(white - self._black)
        return np.clip(scaled, 0.0, 1.0)[None]

    def _stop(self) -> None:
        """Stops what moves and what exposes, as far as the drivers can."""
        for device, name, member in (
            (self.focuser, "FOCUS_ABORT_MOTION", "ABORT"),
            (self.ccd, "CCD_ABORT_EXPOSURE", "ABORT"),
        ):
            if name in self._client.devices.get(device, {}):
                with suppress(CameraError):  # what went wrong before is what is told
                    self._client.set(device, name, {member: "On"})

    def _set_up(self) -> None:
        """Connects the devices and lets the camera send its pictures here; also after a crash."""
        if not self._client.is_connected:
            self._client.connect()
        connect_device(self._client, self.focuser, ("ABS_FOCUS_POSITION",), self._timeout_s)
        connect_device(self._client, self.ccd, ("CCD_EXPOSURE", "CCD_INFO", "CCD1"), self._timeout_s)
        prepare_camera(self._client, self.ccd, self.focuser, self._timeout_s)
        set_region(self._client, self.ccd, self._region, self._timeout_s)

    def _grid(self, positions: Numbers | None) -> FocusGrid:
        """Returns a grid of positions that the focuser can all go to."""
        vector = self._client.vector(self.focuser, "ABS_FOCUS_POSITION")
        low, high = vector.limits.get("FOCUS_ABSOLUTE_POSITION", (math.nan, math.nan))
        if positions is None:
            if not -math.inf < low < high < math.inf:
                raise CameraError(f"{self.focuser} does not tell how far it can go: say the positions")
            return FocusGrid(np.unique(np.rint(np.linspace(low, high, POSITIONS))), UNIT)
        grid = FocusGrid(positions, UNIT)
        first, last = sorted(grid.positions[[0, -1]].tolist())
        if not (low <= first and last <= high):
            raise InputError(
                f"{self.focuser} goes from {low:g} to {high:g} steps, not to {first:g} or {last:g}"
            )
        return grid


def to_green(cards: Cards, counts: Counts) -> Float32[np.ndarray, "row col"]:
    """Returns green of a picture: its plane, the mean of a mosaic's two, or all that a grey sensor sees."""
    if counts.ndim == 3:
        return np.ascontiguousarray(counts[len(counts) // 2], dtype=np.float32)
    pattern = cards.get("BAYERPAT")
    if not isinstance(pattern, str) or pattern not in GREENS:
        return counts.astype(np.float32, copy=False)
    return mean_green(counts, GREENS[pattern])


def unpack(blob: Blob) -> bytes:
    """Returns the FITS file that a picture is.

    Raises:
        CameraError: If it is something else, or more than memory allows.
    """
    if blob.format == ".fits":
        return blob.data
    if blob.format != ".fits.z":
        raise CameraError(
            f"{blob.device} sends {blob.format or 'nothing'}, not .fits: set its format to FITS"
        )
    try:
        return zlib.decompressobj().decompress(blob.data, int(largest_bytes()))
    except zlib.error as error:
        raise CameraError(f"{blob.device} sent a picture that cannot be unpacked: {error}") from None


def open_device(address: str) -> IndiCamera:
    """Returns the camera and the focuser at HOST:PORT/CCD/FOCUSER, each part of which may be left out.

    `?exposure=SECONDS` at the end sets the exposure.

    Raises:
        InputError: If it is no such address.
        CameraError: If there is nothing there.
    """
    place, settings = split_address(address, {"exposure": EXPOSURE_S}, FORM)
    server, _, devices = place.partition("/")
    ccd, _, focuser = devices.partition("/")
    host, colon, port = server.rpartition(":")
    host, port = (host, port) if colon else (port, str(PORT))
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InputError(f"such a device is {FORM}, not {address!r}")
    return IndiCamera(
        host.strip("[]") or "localhost", int(port), ccd, focuser, exposure_s=settings["exposure"]
    )
