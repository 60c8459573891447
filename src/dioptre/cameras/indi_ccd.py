"""A camera of an INDI server: it exposes and sends FITS. Alone it is a source of pictures for a pair."""

import math
import zlib
from contextlib import suppress
from typing import Final

import numpy as np
from jaxtyping import Float32

from dioptre.cameras.base import Frame
from dioptre.cameras.device_base import Held
from dioptre.cameras.fits import Cards, Counts, read_fits
from dioptre.cameras.indi_client import Blob, IndiClient, once_more
from dioptre.cameras.indi_devices import (
    CCD,
    attended,
    connect_device,
    find_device,
    prepare_camera,
    set_region,
)
from dioptre.cameras.indi_focuser import HALF_A_STEP, TIMEOUT_S
from dioptre.errors import CameraError, InputError
from dioptre.resources import largest_bytes
from dioptre.stacks.bayer import GREENS, mean_green

EXPOSURE_S: Final = 1.0
EXPOSURES: Final = 3  # at most, before a camera that only sends pictures from elsewhere is given up


class IndiCcd(Held):
    """A camera of an INDI server; called, it returns a frame.

    Attributes:
        client: The connection, which closing ends.
        name: What the server calls it.
        header: The cards of the last picture that was used.
        shape: Rows and columns of its frames.
    """

    def __init__(
        self,
        client: IndiClient,
        name: str = "",
        *,
        focuser: str = "",
        exposure_s: float = EXPOSURE_S,
        region: tuple[int, int, int, int] | None = None,
        black: float = 0.0,
        white: float | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Connects it and takes a first picture, which says how large pictures are.

        Args:
            client: A connection.
            name: Its name; the only one by default.
            focuser: Whose position it shall write into its pictures.
            exposure_s: Seconds of an exposure.
            region: (x, y, w, h) of the sensor, in its pixels; all of it by default.
            black: Counts of black.
            white: Counts of white; by default the highest that its bits allow.
            timeout_s: How long nothing may happen, beyond an exposure's own time.

        Raises:
            InputError: If a setting cannot be used, or there are several, and none is named.
            CameraError: If it or its picture is not what is needed.
        """
        check_exposure(exposure_s)
        self.client, self._exposure_s, self._timeout_s = client, exposure_s, timeout_s
        self._black, self._white, self._region = black, white, region
        self._focuser = focuser
        self.header: Cards = {}
        self.name = find_device(client, name, CCD)
        self.set_up()
        self.shape: tuple[int, int] = self.expose(None).shape

    def set_up(self) -> None:
        """Connects it and lets it send its pictures here, also after a crash."""
        client, name = self.client, self.name
        connect_device(client, name, ("CCD_EXPOSURE", "CCD_INFO", "CCD1"), self._timeout_s)
        prepare_camera(client, name, self._focuser, self._timeout_s)
        set_region(client, name, self._region, self._timeout_s)

    def close(self) -> None:
        """Ends the connection; the device stays as it is."""
        self.client.close()

    @property
    def where(self) -> tuple[float, float] | None:
        """The centre of the region in the whole sensor; None if it is all of it."""
        if self._region is None:
            return None
        info = self.client.vector(self.name, "CCD_INFO")
        x, y, w, h = self._region
        across, down = info.number("CCD_MAX_X"), info.number("CCD_MAX_Y")
        return (2 * x + w) / across - 1, (2 * y + h) / down - 1

    def __call__(self) -> Frame:
        """Returns a frame that is exposed from now on."""
        return once_more(self.client, lambda: self.frame_at(None), self.set_up)

    def abort(self) -> None:
        """Makes an exposure in another thread stop, and raise CameraError."""
        self.client.abort()

    def frame_at(self, steps: float | None) -> Frame:
        """Returns a frame that was taken at a position of the focuser, or anywhere.

        Raises:
            LostError: If the driver or the server went away.
        """
        with attended(self.client, self.name, self.stop):
            counts = self.expose(steps)
        if counts.shape != self.shape:
            raise CameraError(
                f"{self.name} sent a frame of {counts.shape}, and before of {self.shape}: open it anew"
            )
        return self._to_frame(counts)

    def expose(self, steps: float | None) -> Float32[np.ndarray, "row col"]:
        """Returns green of a picture that was taken at a position, or anywhere."""
        client, told = self.client, None
        client.blobs.clear()
        for _ in range(EXPOSURES):
            client.complaints.pop(self.name, None)
            client.set(self.name, "CCD_EXPOSURE", {"CCD_EXPOSURE_VALUE": self._exposure_s})
            while True:
                what = f"a picture from {self.name}"
                blob = client.wait(self._next_blob, what, self._exposure_s + self._timeout_s)
                cards, counts = read_fits(unpack(blob))
                told = cards.get("FOCUSPOS")
                if steps is None or not isinstance(told, float) or abs(told - steps) <= HALF_A_STEP:
                    self.header = cards
                    return to_green(cards, counts)
                if not client.blobs and client.vector(self.name, "CCD_EXPOSURE").state != "Busy":
                    break  # this was the picture of our exposure; otherwise ours is still to come
        raise CameraError(f"{self.name} says that its pictures were taken at {told:g}, not at {steps:g}")

    def _next_blob(self) -> Blob | None:
        """Returns the oldest picture of our camera that was not looked at yet."""
        blobs = self.client.blobs
        while blobs:
            if (blob := blobs.popleft()).device == self.name:
                return blob
        if self.client.vector(self.name, "CCD_EXPOSURE").state == "Alert":
            why = self.client.complaints.get(self.name, "it does not say why")
            raise CameraError(f"{self.name} refused to expose for {self._exposure_s:g} s: {why}")
        return None

    def _to_frame(self, counts: Float32[np.ndarray, "row col"]) -> Frame:
        """Returns counts as a frame, black 0 and white 1."""
        white = self._white
        if white is None:
            bits = self.client.vector(self.name, "CCD_INFO").number("CCD_BITSPERPIXEL")
            white = 2.0**bits - 1 if 1 <= bits <= 64 else math.nan
        if not white > self._black:
            raise CameraError(
                f"{self.name} tells no white ({white:g} counts, black is {self._black:g}): say it"
            )
        scaled = (counts - np.float32(self._black)) / np.float32(white - self._black)
        return np.clip(scaled, 0.0, 1.0)[None]

    def stop(self) -> None:
        """Stops an exposure, as far as the driver can."""
        if "CCD_ABORT_EXPOSURE" in self.client.devices.get(self.name, {}):
            with suppress(CameraError):  # what went wrong before is what is told
                self.client.set(self.name, "CCD_ABORT_EXPOSURE", {"ABORT": "On"})


def check_exposure(seconds: float) -> None:
    """Raises InputError if nothing can be exposed for so long."""
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"an exposure takes a positive number of seconds, not {seconds:g}")


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
