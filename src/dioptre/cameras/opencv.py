"""A webcam whose focus can be set, through OpenCV's VideoCapture.

    with OpenCVCamera(0) as camera:
        dioptre.Autofocus(camera, method="gradient-magnitude-variance").run()

Positions are the driver's own numbers (`CAP_PROP_FOCUS`), which OpenCV neither calibrates nor bounds. **Far
and near are not known**: many webcams count from 0, infinity, upwards to near, ; the
UVC standard would have it the other way round, in millimetres. So the grid does not tell whether later
positions focus nearer.

Frames are green, in 8 bits. A webcam sends them with a tone curve of its own; what is undone here is the
standard one (sRGB), so that they are linear about as well as that fits. Exposure is the driver's: hold it
with the driver's own tool if frames differ. Frames wait in a queue: after each move the lens is given time
to settle, and then as many frames are dropped as may have waited.

This was written from OpenCV's documentation and tested against a fake that queues frames and moves its lens
late. It has not been tried on a webcam. A read that the driver does not answer can only be ended by the
driver.
"""

from typing import Any, Final

import cv2
import numpy as np
from jaxtyping import Float

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.device_base import Held, Stop, split_address, to_number, translated
from dioptre.errors import CameraError, InputError
from dioptre.grid import MOST_POSITIONS, FocusGrid, Numbers
from dioptre.stack import srgb_to_linear

UNIT: Final = "steps"  # of CAP_PROP_FOCUS, which OpenCV gives no unit
LOWEST, HIGHEST, STEP = 0.0, 255.0, 5.0  # what many webcams have
SETTLE_S: Final = 0.5
QUEUED: Final = 5  # frames: a driver's usual four buffers, and the one that is being exposed
FORM: Final = "opencv:NUMBER?low=VALUE&high=VALUE&step=VALUE"


class OpenCVSource(Held):
    """The pictures of a webcam, whoever moves its lens; called, it returns a frame.

    Attributes:
        name: What it is called in errors.
        shape: Rows and columns of a frame.
    """

    where = None

    def __init__(self, number: int = 0, *, queued: int = QUEUED, linear: bool = False) -> None:
        """Opens the camera and takes a first frame.

        Args:
            number: Which of several cameras.
            queued: How many frames are dropped before one counts: as many as the driver may have kept.
            linear: Whether the camera's frames are linear already.

        Raises:
            CameraError: If there is no such camera, or it sends nothing.
        """
        self._stop, self._queued, self.name = Stop(), queued, f"camera {number}"
        shown = np.arange(256, dtype=np.float32) / 255
        self._light = shown if linear else srgb_to_linear(shown)
        self._capture = cv2.VideoCapture(number)
        try:
            with translated("OpenCV", cv2.error):
                if not self._capture.isOpened():
                    raise CameraError(f"OpenCV finds no {self.name}")
                self.shape: tuple[int, int] = self._read().shape
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Releases the camera."""
        self._capture.release()

    def begin(self) -> None:
        """Forgets an abort that came while nothing ran."""
        self._stop.begin()

    def abort(self) -> None:
        """Makes a wait in another thread raise CameraError before its next frame."""
        self._stop.ask()

    def set(self, name: int, value: float) -> bool:
        """Sets one of the driver's properties; returns whether it has it."""
        with translated("OpenCV", cv2.error):
            return bool(self._capture.set(name, value))

    def pause(self, seconds: float) -> None:
        """Waits, unless there is an abort."""
        self._stop.pause(seconds)

    def __call__(self) -> Frame:
        """Returns a frame that is exposed from now on."""
        self.begin()
        return self.look()

    def look(self) -> Frame:
        """Drops the frames that waited and returns the next, unless there was an abort meanwhile."""
        with translated("OpenCV", cv2.error):
            for _ in range(self._queued):
                self._stop.check()
                if not self._capture.grab():
                    raise CameraError(f"{self.name} sends no frames")
            green = self._read()
        if green.shape != self.shape:
            raise CameraError(f"{self.name} sent a frame of {green.shape}, and before of {self.shape}")
        return self._light[green][None]

    def _read(self) -> Any:
        """Returns green of the next frame, as codes of 8 bits."""
        came, image = self._capture.read()
        if not came or image is None:
            raise CameraError(f"{self.name} sends no frames")
        if image.dtype != np.uint8:
            raise CameraError(f"{self.name} sends frames of {image.dtype}, not of 8 bits")
        return image if image.ndim == 2 else image[..., min(1, image.shape[2] - 1)]


class OpenCVCamera(Held):
    """A webcam whose focus can be set.

    Attributes:
        grid: The driver's numbers.
    """

    views = 1
    where = None

    def __init__(
        self,
        number: int = 0,
        *,
        positions: Numbers | None = None,
        settle_s: float = SETTLE_S,
        queued: int = QUEUED,
        linear: bool = False,
    ) -> None:
        """Opens the camera, switches its own autofocus off, and takes a first frame.

        Args:
            number: Which of several cameras.
            positions: The driver's numbers, rising or falling; by default 0 to 255 by 5.
            settle_s: Seconds that the lens is given after each move.
            queued: How many frames are dropped after that: as many as the driver may have kept.
            linear: Whether the camera's frames are linear already.

        Raises:
            InputError: If these are no positions.
            CameraError: If there is no such camera, or its focus cannot be set.
        """
        self.grid = FocusGrid(np.arange(LOWEST, HIGHEST + 1, STEP) if positions is None else positions, UNIT)
        self._settle_s = settle_s
        self._source = OpenCVSource(number, queued=queued, linear=linear)
        try:
            if not self._source.set(cv2.CAP_PROP_AUTOFOCUS, 0.0):
                raise CameraError(f"the autofocus of {self._source.name} cannot be switched off")
            self._set_focus(float(self.grid.positions[0]))
        except BaseException:
            self.close()
            raise
        self.shape = self._source.shape

    def close(self) -> None:
        """Releases the camera."""
        self._source.close()

    def abort(self) -> None:
        """Makes a capture in another thread raise CameraError before its next frame."""
        self._source.abort()

    def capture(self, index: int) -> Frame:
        """Sets the focus, waits, drops the frames that waited too, and returns the next."""
        at = to_index(index, self.grid)
        self._source.begin()
        self._set_focus(float(self.grid.positions[at]))
        self._source.pause(self._settle_s)
        return self._source.look()

    def _set_focus(self, value: float) -> None:
        if not self._source.set(cv2.CAP_PROP_FOCUS, value):
            raise CameraError(f"the focus of {self._source.name} cannot be set to {value:g}")


def open_device(address: str) -> OpenCVCamera:
    """Returns a webcam by its number, the first by default.

    `?low=0&high=255&step=5` at the end sets the positions; with low above high it falls.

    Raises:
        InputError: If this is no number, or these are no positions.
        CameraError: If there is no such camera, or its focus cannot be set.
    """
    number, positions = parse_address(address)
    return OpenCVCamera(number, positions=positions)


def open_source(address: str) -> OpenCVSource:
    """Returns the pictures of such a webcam alone, which need not have a focus motor; raises the same."""
    return OpenCVSource(parse_address(address)[0])


def parse_address(address: str) -> tuple[int, Float[np.ndarray, " n"]]:
    """Returns the number of a webcam and its positions; raises InputError."""
    place, settings = split_address(address, {"low": LOWEST, "high": HIGHEST, "step": STEP}, FORM)
    low, high, step = settings["low"], settings["high"], settings["step"]
    n = round(abs(high - low) / step) + 1 if step > 0 and np.isfinite(high - low) else 0
    if not 2 <= n <= MOST_POSITIONS:
        raise InputError(
            f"a lens has 2 to {MOST_POSITIONS} positions, not from {low:g} to {high:g} by {step:g}"
        )
    return to_number(place, FORM), low + np.arange(n) * (step if high > low else -step)
