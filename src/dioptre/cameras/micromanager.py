"""A microscope that Micro-Manager drives, through pymmcore-plus: its camera and its focus stage.

    core = CMMCorePlus.instance()
    core.loadSystemConfiguration("my-microscope.cfg")
    camera = MicroManagerCamera(core, way_um=40.0, step_um=0.5)   # 20 um either way of where the stage stands
    dioptre.Autofocus(camera).run()

Positions are micrometres of the stage, rising. A stage does not tell how far it may go, so the grid is a way
around where it stood when the camera was made, and nothing outside of it is ever asked for: choose one that
cannot touch the sample.

**Far** is where the objective is nearest to the sample: the plane in focus then lies beyond what was in focus
before. Micro-Manager knows which way that is if the stage's focus direction is set in the configuration;
where it is unknown, as with the demo stage, the grid does not tell.

An exposure is one call of the driver's and cannot be stopped half-way: `abort` stops a move at once, and an
exposure when it is over. Regions are those that are set in Micro-Manager (`setROI`), which does not tell of
what they are a part.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from dioptre.cameras.base import Frame, to_index
from dioptre.cameras.device_base import Held, Stop, split_address, translated
from dioptre.errors import CameraError, CameraTimeoutError, InputError, MissingExtraError
from dioptre.grid import MOST_POSITIONS, FocusGrid

if TYPE_CHECKING:
    from pymmcore_plus import CMMCorePlus

MISSING: Final = "Micro-Manager needs pymmcore-plus: pip install 'dioptre[micromanager]'"
DEMO: Final = "demo"
WAY_UM: Final = 50.0
STEP_UM: Final = 0.5
TIMEOUT_S: Final = 10.0
POLL_S: Final = 0.002
OFF: Final = 0.5  # of a step: a stage that stands farther off did not arrive
DEMO_SETTINGS: Final = {
    "Mode": "Fluorescent Beads",
    "BitDepth": "12",
    "BeadDensity": "400",
    "BeadSize": "4",
    "BeadBrightness": "8",
    "BeadBlurRate": "0.2",  # the demo's beads brighten as they blur, unlike real ones: a little only so
}
DEMO_OFF_UM: Final = 8.03  # where the demo begins: its beads are sharp at 0, and mirrored there


class MicroManagerCamera(Held):
    """A camera and a focus stage of Micro-Manager as one camera.

    Attributes:
        core: Micro-Manager.
        grid: Positions of the stage, in micrometres.
    """

    views = 1
    where = None
    continuous = True

    def __init__(
        self,
        core: "CMMCorePlus",
        *,
        way_um: float = WAY_UM,
        step_um: float = STEP_UM,
        black: float = 0.0,
        white: float | None = None,
        settle_s: float = 0.0,
        timeout_s: float = TIMEOUT_S,
        owned: bool = False,
    ) -> None:
        """Reads where the stage stands, and lays the grid around it.

        Args:
            core: Micro-Manager, with a configuration loaded; its camera and focus device are used.
            way_um: How long the way is, half of it either way of where the stage stands.
            step_um: How far apart its positions are.
            black: Counts of black.
            white: Counts of white; by default the highest that the camera's bits allow.
            settle_s: Seconds to wait after the stage has arrived.
            timeout_s: How long a move may take.
            owned: Whether closing unloads the devices.

        Raises:
            InputError: If these are no positions.
            CameraError: If there is no camera or no stage.
        """
        n = round(way_um / step_um) + 1 if step_um > 0 and math.isfinite(way_um) else 0
        if not 2 <= n <= MOST_POSITIONS:
            raise InputError(
                f"a stage has 2 to {MOST_POSITIONS} positions, not a way of {way_um:g} um by {step_um:g} um"
            )
        if white is not None and not white > black:
            raise InputError(f"white is more than black, {black:g} counts, not {white:g}")
        self.core, self._owned, self._stop = core, owned, Stop()
        self._black, self._white = black, white
        self._settle_s, self._timeout_s, self._step_um = settle_s, timeout_s, step_um
        with translated("Micro-Manager"):
            self.stage, camera = str(core.getFocusDevice()), core.getCameraDevice()
            if not (self.stage and camera):
                raise CameraError(
                    f"Micro-Manager has no {'camera' if self.stage else 'focus stage'} in this configuration"
                )
            way = (np.arange(n) - (n - 1) / 2) * step_um
            towards_sample = int(core.getFocusDirection(self.stage))
            nearer = None if towards_sample == 0 else towards_sample < 0
            self.grid = FocusGrid(core.getPosition(self.stage) + way, "um", nearer=nearer)
            self.shape = core.getImageHeight(), core.getImageWidth()

    def close(self) -> None:
        """Unloads the devices, if they were loaded for this camera."""
        if self._owned:
            with suppress(RuntimeError):
                self.core.unloadAllDevices()

    def abort(self) -> None:
        """Stops the stage: a capture that runs in another thread raises CameraError."""
        self._stop.ask()

    def capture(self, index: int) -> Frame:
        """Moves the stage, and returns a frame that was exposed after it had arrived."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position in micrometres."""
        z_um = self.grid.check(position)
        self._stop.begin()
        with translated("Micro-Manager"):
            self._move(z_um)
            self._check_abort()
            self.core.snapImage()
            image = self.core.getImage()
            bits = self.core.getImageBitDepth()
        self._check_abort()
        return self._to_frame(image, bits)

    def _move(self, z_um: float) -> None:
        core, stage = self.core, self.stage
        core.setPosition(stage, z_um)
        self._wait(lambda: not core.deviceBusy(stage), f"the move of {stage} to {z_um:g} um")
        self._stop.pause(self._settle_s)
        if not abs(there := core.getPosition(stage) - z_um) <= OFF * self._step_um:
            raise CameraError(f"{stage} was sent to {z_um:g} um and stands {abs(there):g} um off")

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        while not ready():
            self._check_abort()
            if time.monotonic() > deadline:
                with suppress(RuntimeError):  # a stage that cannot be stopped
                    self.core.stop(self.stage)
                raise CameraTimeoutError(f"{what} did not end in {self._timeout_s:g} s")
            time.sleep(POLL_S)

    def _check_abort(self) -> None:
        if self._stop.is_asked:
            with suppress(RuntimeError):  # a stage that cannot be stopped
                self.core.stop(self.stage)
        self._stop.check()

    def _to_frame(self, image: np.ndarray, bits: int) -> Frame:
        """Returns the green of a picture that the camera sent as a frame, with black 0 and white 1."""
        green = image if image.ndim == 2 else image[..., 1]
        if green.shape != self.shape:
            raise CameraError(
                f"the camera sent a frame of {green.shape}, and before of {self.shape}: open it anew"
            )
        white = 2.0**bits - 1 if self._white is None else self._white
        scaled = (green.astype(np.float32) - np.float32(self._black)) / np.float32(white - self._black)
        return np.clip(scaled, 0.0, 1.0)[None]


def open_device(address: str) -> MicroManagerCamera:
    """Returns the devices of a configuration file, or those of `demo`.

    `?way=UM&step=UM&exposure=MS` at the end sets the grid and the exposure.

    Raises:
        InputError: If there is no such file, or no such setting.
        MissingExtraError: If pymmcore-plus is not there.
        CameraError: If the devices cannot be loaded.
    """
    known = {"way": WAY_UM, "step": STEP_UM, "exposure": math.nan}
    place, settings = split_address(address, known, "demo or CFG?way=UM&step=UM&exposure=MS")
    if place != DEMO and not Path(place).is_file():
        raise InputError(f"there is no Micro-Manager configuration {place!r}: a .cfg file, or {DEMO!r}")
    core = new_core()
    with translated("Micro-Manager"):
        core.loadSystemConfiguration(*([] if place == DEMO else [place]))
        if place == DEMO:
            for name, value in DEMO_SETTINGS.items():
                core.setProperty(core.getCameraDevice(), name, value)
            core.setPosition(DEMO_OFF_UM)
        if not math.isnan(settings["exposure"]):
            core.setExposure(settings["exposure"])
    return MicroManagerCamera(core, way_um=settings["way"], step_um=settings["step"], owned=True)


def new_core() -> "CMMCorePlus":
    """Returns Micro-Manager, without devices.

    Raises:
        MissingExtraError: If pymmcore-plus is not there.
    """
    try:
        from pymmcore_plus import CMMCorePlus  # noqa: PLC0415  # a second
    except ModuleNotFoundError:
        raise MissingExtraError(MISSING) from None
    with translated("Micro-Manager"):
        return CMMCorePlus()
