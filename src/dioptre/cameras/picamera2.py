"""A Raspberry Pi camera whose lens moves (Camera Module 3 and its like), through Picamera2.

    with PiCamera() as camera:
        dioptre.Autofocus(camera).run()

Positions are dioptres, as libcamera's `LensPosition` is: 0 is infinity, and the highest is
what the driver offers. They are as true as the calibration of the lens that libcamera was given.

Frames are the sensor's own (`raw`): the green pixels of its mosaic, less black, linear. Exposure and gain are
left to the camera at first and held after that, so that frames of a sweep can be compared. A frame counts if
it was exposed (`SensorTimestamp`) after the lens had time to settle, and if its own `LensPosition` is the one
that was asked for: controls take some frames to be applied, and requests may have been waiting.

This was written from Picamera2's documentation, examples and tests, and tested against a fake that keeps its
call order and its delays. It has not been tried on a Raspberry Pi.
"""

import math
import re
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Final

import numpy as np

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.device_base import Held, Stop, split_address, to_number, translated
from dioptre.errors import CameraError, CameraTimeoutError, InputError, MissingExtraError
from dioptre.grid import DIOPTRES, MOST_POSITIONS, FocusGrid
from dioptre.stacks.bayer import GREENS, mean_green

STEP_DIOPTRES: Final = 0.25
CLOSE: Final = 0.05  # dioptres: what Picamera2's own test accepts
SETTLE_S: Final = 0.5  # how long that test waits
TIMEOUT_S: Final = 5.0
POLL_S: Final = 0.1
METERING_FRAMES: Final = 30  # at most, until exposure and gain are held
SIXTEEN_BITS: Final = 65536  # what libcamera counts black levels of
PLAIN: Final = re.compile(r"S?(RGGB|BGGR|GRBG|GBRG)(\d+)")  # mosaics that are neither packed nor compressed
FORM: Final = "picamera2:NUMBER?step=DIOPTRES"

Metadata = Mapping[str, Any]


class PiSource(Held):
    """The pictures of a Raspberry Pi camera, whoever moves its lens; called, it returns a frame.

    Attributes:
        shape: Rows and columns of a frame.
        metadata: What libcamera said of the last frame.
    """

    where = None

    def __init__(self, number: int = 0, *, settle_s: float = 0.0, timeout_s: float = TIMEOUT_S) -> None:
        """Opens the camera, starts it, and holds exposure and gain as soon as they have settled.

        Args:
            number: Which of several cameras.
            settle_s: Seconds from telling its lens to move until a frame counts.
            timeout_s: How long a frame may take.

        Raises:
            MissingExtraError: If Picamera2 is not there.
            CameraError: If there is no such camera, or its frames cannot be used.
        """
        picamera2, controls = load_picamera2()
        self._stop, self._settle_s, self._timeout_s = Stop(), settle_s, timeout_s
        self._manual = controls.AfModeEnum.Manual
        self.metadata: Metadata = {}
        try:
            self._camera = picamera2.Picamera2(number)
        except (RuntimeError, IndexError) as error:
            raise CameraError(f"there is no Raspberry Pi camera {number}: {error}") from None
        try:
            with translated("Picamera2"):
                self._start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stops and releases the camera."""
        self._camera.stop()
        self._camera.close()

    def abort(self) -> None:
        """Makes a capture in another thread raise CameraError."""
        self._stop.ask()

    def __call__(self) -> Frame:
        """Returns a frame that is exposed from now on, wherever the lens is."""
        self._stop.begin()
        with translated("Picamera2"):
            return self._frame_at(None)

    def frame_at(self, dioptres: float) -> Frame:
        """Returns a frame that is exposed where the camera's own lens is sent, after it has settled."""
        self._stop.begin()
        with translated("Picamera2"):
            self._camera.set_controls({"AfMode": self._manual, "LensPosition": dioptres})
            self._stop.pause(self._settle_s)
            return self._frame_at(dioptres)

    def _frame_at(self, dioptres: float | None) -> Frame:
        """Returns the first frame that is exposed from now on and that says that it is of there, if asked."""
        settled, deadline = time.monotonic_ns(), time.monotonic() + self._timeout_s
        while True:
            request = self._next_request()
            try:
                self.metadata = request.get_metadata()
                there = self.metadata.get("LensPosition", math.nan)
                arrived = dioptres is None or abs(there - dioptres) <= CLOSE
                if self.metadata.get("SensorTimestamp", 0) >= settled and arrived:
                    return self._to_frame(request.make_array("raw"), self.metadata)
            finally:
                request.release()
            if time.monotonic() > deadline:
                where = (
                    "" if arrived else f": the lens was sent to {dioptres:g} dioptres and stands at {there:g}"
                )
                waited = self._settle_s + self._timeout_s
                raise CameraTimeoutError(f"the camera sent no frame that counts in {waited:g} s{where}")

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest position of its own lens, in dioptres.

        Raises:
            CameraError: If it cannot be moved.
        """
        offered = self._camera.camera_controls
        if "AfMode" not in offered or "LensPosition" not in offered:
            raise CameraError("the lens of this Raspberry Pi camera cannot be moved: it has no AfMode")
        low, high = (float(end) for end in offered["LensPosition"][:2])
        return low, high

    # Setting up, in the order that Picamera2 wants

    def _start(self) -> None:
        camera = self._camera
        mode = widest_mode(camera.sensor_modes)
        raw = {"format": str(mode["unpacked"]), "size": mode["size"]}
        camera.configure(camera.create_video_configuration(raw=raw, queue=False))
        chosen = camera.camera_configuration()["raw"]
        found = PLAIN.fullmatch(str(chosen["format"]))
        if found is None:
            raise CameraError(
                f"the camera offers its raw frames only as {chosen['format']}, not as a plain mosaic"
            )
        self._pattern, self._white = found[1], 2.0 ** int(found[2]) - 1
        self._columns, self._rows = chosen["size"]
        self.shape: tuple[int, int] = self._rows // 2, self._columns // 2
        camera.start()
        self._hold_exposure()

    def _hold_exposure(self) -> None:
        """Lets the camera choose exposure and gain, and keeps them from then on."""
        for _ in range(METERING_FRAMES):
            request = self._next_request()
            metadata = request.get_metadata()
            request.release()
            if metadata.get("AeLocked"):
                break
        chosen = {name: metadata[name] for name in ("ExposureTime", "AnalogueGain") if name in metadata}
        self._camera.set_controls({"AeEnable": False, **chosen})

    # Frames

    def _next_request(self) -> Any:
        """Returns the next frame with its metadata, which must be released."""
        job, deadline = self._camera.capture_request(wait=False), time.monotonic() + self._timeout_s
        while True:
            try:
                self._stop.check()
                return self._camera.wait(job, timeout=POLL_S)
            except (FutureTimeoutError, CancelledError):
                if time.monotonic() > deadline:
                    self._camera.cancel_all_and_flush()
                    raise CameraTimeoutError(f"the camera sent no frame in {self._timeout_s:g} s") from None
            except CameraError:
                self._camera.cancel_all_and_flush()
                raise

    def _to_frame(self, raw: np.ndarray, metadata: Metadata) -> Frame:
        """Returns green of a raw frame, black 0 and white 1."""
        codes = raw.view(np.uint16) if raw.dtype == np.uint8 else raw  # rows may be longer than the picture
        green = mean_green(codes[: self._rows, : self._columns], GREENS[self._pattern])
        black = np.mean(metadata.get("SensorBlackLevels", (0.0,))) * (self._white + 1) / SIXTEEN_BITS
        return np.clip((green - np.float32(black)) / np.float32(self._white - black), 0.0, 1.0)[None]


class PiCamera(Held):
    """A Raspberry Pi camera whose lens moves.

    Attributes:
        grid: Its positions, in dioptres: what `LensPosition` is at each index.
        shape: Rows and columns of a frame.
    """

    views = 1
    where = None
    continuous = True

    def __init__(
        self,
        number: int = 0,
        *,
        step_dioptres: float = STEP_DIOPTRES,
        settle_s: float = SETTLE_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Opens the camera, starts it, and holds exposure and gain as soon as they have settled.

        Args:
            number: Which of several cameras.
            step_dioptres: How far apart the positions of the lens are.
            settle_s: Seconds from telling the lens to move until a frame counts.
            timeout_s: How long a frame may take.

        Raises:
            InputError: If these are no positions.
            MissingExtraError: If Picamera2 is not there.
            CameraError: If there is no such camera, or its lens cannot be moved.
        """
        self._source = PiSource(number, settle_s=settle_s, timeout_s=timeout_s)
        try:
            self.grid = _grid(*self._source.reach, step_dioptres)
        except BaseException:
            self.close()
            raise
        self.shape = self._source.shape

    def close(self) -> None:
        """Stops and releases the camera."""
        self._source.close()

    @property
    def metadata(self) -> Metadata:
        """What libcamera said of the last frame."""
        return self._source.metadata

    def abort(self) -> None:
        """Makes a capture in another thread raise CameraError."""
        self._source.abort()

    def capture(self, index: int) -> Frame:
        """Moves the lens, and returns a frame that was exposed there after it had settled."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position in dioptres."""
        return self._source.frame_at(self.grid.check(position))


def _grid(low: float, high: float, step: float) -> FocusGrid:
    """Returns positions from one end of a lens's way to the other, in dioptres."""
    n = round((high - low) / step) + 1 if step > 0 else 0
    if not 2 <= n <= MOST_POSITIONS:
        raise InputError(f"a lens that goes from {low:g} to {high:g} dioptres has no steps of {step:g}")
    return FocusGrid(np.linspace(low, high, n), DIOPTRES)


def widest_mode(modes: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the sensor's mode that sees most; of several, the one with the fewest pixels."""

    def seen(mode: dict[str, Any]) -> tuple[int, int]:
        _, _, w, h = mode["crop_limits"]
        return w * h, -math.prod(mode["size"])

    return max(modes, key=seen)


def load_picamera2() -> tuple[Any, Any]:
    """Returns Picamera2 and libcamera's controls.

    Raises:
        MissingExtraError: If they are not there.
    """
    try:
        import picamera2  # noqa: PLC0415  # not on every machine
        from libcamera import controls  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(
            "a Raspberry Pi camera needs Picamera2: apt install python3-picamera2, "
            "or pip install 'dioptre[picamera2]'"
        ) from None
    return picamera2, controls


def open_device(address: str) -> PiCamera:
    """Returns a Raspberry Pi camera by its number, the first by default.

    `?step=DIOPTRES` at the end says how far apart positions are.

    Raises:
        InputError: If this is no number, or no step.
        MissingExtraError: If Picamera2 is not there.
        CameraError: If there is no such camera, or its lens cannot be moved.
    """
    place, settings = split_address(address, {"step": STEP_DIOPTRES}, FORM)
    return PiCamera(to_number(place, FORM), step_dioptres=settings["step"])


def open_source(address: str) -> PiSource:
    """Returns the pictures of such a camera alone, which need not have a lens that moves; raises the same."""
    return PiSource(to_number(split_address(address, {"step": STEP_DIOPTRES}, FORM)[0], FORM))
