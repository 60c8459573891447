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


class MicroManagerSource(Held):
    """A camera of Micro-Manager; called, it returns a frame.

    Attributes:
        core: Micro-Manager.
        shape: Rows and columns of a frame.
    """

    where = None

    def __init__(
        self, core: "CMMCorePlus", *, black: float = 0.0, white: float | None = None, owned: bool = False
    ) -> None:
        """Reads how large frames are.

        Args:
            core: Micro-Manager, with a configuration loaded; its camera is used.
            black: Counts of black.
            white: Counts of white; by default the highest that the camera's bits allow.
            owned: Whether closing unloads the devices.

        Raises:
            InputError: If white is not above black.
            CameraError: If there is no camera.
        """
        if white is not None and not white > black:
            raise InputError(f"white is more than black, {black:g} counts, not {white:g}")
        self.core, self._owned, self._stop = core, owned, Stop()
        self._black, self._white = black, white
        with translated("Micro-Manager"):
            if not core.getCameraDevice():
                raise CameraError("Micro-Manager has no camera in this configuration")
            self.shape: tuple[int, int] = core.getImageHeight(), core.getImageWidth()

    def close(self) -> None:
        """Unloads the devices, if they were loaded for this camera."""
        if self._owned:
            unload(self.core)

    def begin(self) -> None:
        """Forgets an abort that came while nothing ran."""
        self._stop.begin()

    def abort(self) -> None:
        """Makes an exposure in another thread raise CameraError when it is over."""
        self._stop.ask()

    def __call__(self) -> Frame:
        """Returns a frame that is exposed from now on."""
        self.begin()
        return self.look()

    def look(self) -> Frame:
        """Returns the same, unless there was an abort since the beginning."""
        self._stop.check()
        with translated("Micro-Manager"):
            self.core.snapImage()
            image = self.core.getImage()
            bits = self.core.getImageBitDepth()
        self._stop.check()
        return self._to_frame(image, bits)

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


class MicroManagerStage(Held):
    """A focus stage of Micro-Manager, which is a lens (`dioptre.Lens`) beside any camera.

    Attributes:
        core: Micro-Manager.
        name: What the configuration calls it.
        limits: Its lowest and its highest position.
    """

    unit = "um"

    def __init__(
        self,
        core: "CMMCorePlus",
        *,
        way_um: float = WAY_UM,
        step_um: float = STEP_UM,
        settle_s: float = 0.0,
        timeout_s: float = TIMEOUT_S,
        owned: bool = False,
    ) -> None:
        """Reads where it stands.

        Args:
            core: Micro-Manager, with a configuration loaded; its focus device is used.
            way_um: How long the way is, half of it either way of where it stands.
            step_um: How far apart positions are; it must arrive within half of that.
            settle_s: Seconds to wait after it has arrived.
            timeout_s: How long a move may take.
            owned: Whether closing unloads the devices.

        Raises:
            InputError: If this is no way.
            CameraError: If there is no stage.
        """
        n = round(way_um / step_um) + 1 if step_um > 0 and math.isfinite(way_um) else 0
        if not 2 <= n <= MOST_POSITIONS:
            raise InputError(
                f"a stage has 2 to {MOST_POSITIONS} positions, not a way of {way_um:g} um by {step_um:g} um"
            )
        self.core, self._owned, self._stop = core, owned, Stop()
        self._settle_s, self._timeout_s, self._close_um = settle_s, timeout_s, OFF * step_um
        with translated("Micro-Manager"):
            self.name = str(core.getFocusDevice())
            if not self.name:
                raise CameraError("Micro-Manager has no focus stage in this configuration")
            towards_sample = int(core.getFocusDirection(self.name))
            nearer = None if towards_sample == 0 else towards_sample < 0
            way = (np.arange(n) - (n - 1) / 2) * step_um
            self.grid = FocusGrid(self.position() + way, self.unit, nearer=nearer)
        self.limits: tuple[float, float] = float(self.grid.positions[0]), float(self.grid.positions[-1])

    def close(self) -> None:
        """Unloads the devices, if they were loaded for this stage."""
        if self._owned:
            unload(self.core)

    def abort(self) -> None:
        """Stops a move, which raises CameraError in its own thread."""
        self._stop.ask()

    def position(self) -> float:
        """Returns where it stands, in micrometres."""
        return float(self.core.getPosition(self.name))

    def move(self, position: float) -> None:
        """Goes to a position, and returns when it stands there."""
        core, name = self.core, self.name
        self._stop.begin()
        with translated("Micro-Manager"):
            core.setPosition(name, position)
            self._wait(lambda: not core.deviceBusy(name), f"the move of {name} to {position:g} um")
            self._stop.pause(self._settle_s)
            if not abs(there := self.position() - position) <= self._close_um:
                raise CameraError(f"{name} was sent to {position:g} um and stands {abs(there):g} um off")

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        while not ready():
            if self._stop.is_asked or time.monotonic() > deadline:
                with suppress(RuntimeError):  # a stage that cannot be stopped
                    self.core.stop(self.name)
                self._stop.check()
                raise CameraTimeoutError(f"{what} did not end in {self._timeout_s:g} s")
            time.sleep(POLL_S)


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
        self.core = core
        self._stage = MicroManagerStage(
            core, way_um=way_um, step_um=step_um, settle_s=settle_s, timeout_s=timeout_s, owned=owned
        )
        self._source = MicroManagerSource(core, black=black, white=white)
        self.grid, self.shape, self.stage = self._stage.grid, self._source.shape, self._stage.name

    def close(self) -> None:
        """Unloads the devices, if they were loaded for this camera."""
        self._stage.close()

    def abort(self) -> None:
        """Stops the stage: a capture that runs in another thread raises CameraError."""
        self._source.abort()
        self._stage.abort()

    def capture(self, index: int) -> Frame:
        """Moves the stage, and returns a frame that was exposed after it had arrived."""
        return self.capture_at(float(self.grid.positions[to_index(index, self.grid)]))

    def capture_at(self, position: float | int) -> Frame:
        """Does the same at a position in micrometres."""
        z_um = self.grid.check(position)
        self._source.begin()
        self._stage.move(z_um)
        return self._source.look()


def open_device(address: str) -> MicroManagerCamera:
    """Returns the devices of a configuration file, or those of `demo`.

    `?way=UM&step=UM&exposure=MS` at the end sets the grid and the exposure.

    Raises:
        InputError: If there is no such file, or no such setting.
        MissingExtraError: If pymmcore-plus is not there.
        CameraError: If the devices cannot be loaded.
    """
    core, way = load(address)
    return MicroManagerCamera(core, **way, owned=True)


def open_source(address: str) -> MicroManagerSource:
    """Returns the camera of such an address alone, which takes pictures; raises the same."""
    core, _ = load(address)
    return MicroManagerSource(core, owned=True)


def open_lens(address: str) -> MicroManagerStage:
    """Returns the focus stage of such an address alone, which is a lens; raises the same."""
    core, way = load(address)
    return MicroManagerStage(core, **way, owned=True)


def load(address: str) -> tuple["CMMCorePlus", dict[str, float]]:
    """Returns Micro-Manager with the devices of an address loaded, and the way of its stage."""
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
    return core, {"way_um": settings["way"], "step_um": settings["step"]}


def unload(core: "CMMCorePlus") -> None:
    """Unloads all devices."""
    with suppress(RuntimeError):
        core.unloadAllDevices()


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
