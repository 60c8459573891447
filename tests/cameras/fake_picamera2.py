"""Picamera2 and libcamera without a camera: they keep the real call order, and the real delays.

Frames begin every PERIOD_S. A control that is set applies to frames that begin LATE frames later; the lens
takes another TRAVEL frames to arrive. The pixels are where the lens truly was, so a frame that was taken too
early shows. Frames are raw mosaics of 10 bits in rows that are longer than the picture.
"""

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

PERIOD_S = 0.004
LATE, TRAVEL = 3, 4  # frames
ROWS, COLS, PADDED = 12, 16, 20
BLACK, WHITE = 64, 1023  # codes of 10 bits
FARTHEST, NEAREST = 0.0, 15.0
BUFFERS = 3  # that may be out at a time

controls = SimpleNamespace(AfModeEnum=SimpleNamespace(Manual="manual", Auto="auto"))


def lens_to_pixel(dioptres: float) -> float:
    """Returns what a pixel of a frame at a position is, black 0 and white 1."""
    return 0.1 + 0.8 * dioptres / NEAREST


@dataclass
class FakeRequest:
    camera: "FakePicamera2"
    frame: int
    released: bool = False

    def get_metadata(self) -> dict[str, Any]:
        assert not self.released
        return {
            "SensorTimestamp": int(self.camera.begins_s(self.frame) * 1e9),
            "LensPosition": self.camera.told_at(self.frame) + 0.01,
            "SensorBlackLevels": (4096, 4096, 4096, 4096),
            "ExposureTime": 3000,
            "AnalogueGain": 2.0,
            "AeLocked": self.frame > 5,
        }

    def make_array(self, name: str) -> np.ndarray:
        assert not self.released
        assert name == "raw"
        code = round(BLACK + (WHITE - BLACK) * lens_to_pixel(self.camera.truly_at(self.frame)))
        mosaic = np.full((ROWS, PADDED), WHITE, np.uint16)
        mosaic[0:ROWS:2, 1:COLS:2] = code - 1  # RGGB: the greens differ, red and blue are white
        mosaic[1:ROWS:2, 0:COLS:2] = code + 1
        return mosaic.view(np.uint8)

    def release(self) -> None:
        assert not self.released, "a request is released once"
        self.released = True
        self.camera.out -= 1


@dataclass
class FakePicamera2:
    number: int = 0
    has_motor: bool = True
    stalled: bool = False
    stuck: bool = False
    travel: int = TRAVEL
    raw_format: str = "SRGGB10"
    fault: str = ""
    state: str = "open"
    out: int = 0
    held: dict[str, Any] = field(default_factory=dict)
    moves: list[tuple[int, float]] = field(
        default_factory=lambda: [(-100, 1.0)]
    )  # (frame of the order, dioptres)

    @property
    def camera_controls(self) -> dict[str, Any]:
        lens = {"AfMode": (0, 2, 0), "LensPosition": (FARTHEST, NEAREST, 1.0)} if self.has_motor else {}
        return {"ExposureTime": (14, 10_000, None), **lens}

    @property
    def sensor_modes(self) -> list[dict[str, Any]]:
        size, twice = (COLS, ROWS), (2 * COLS, 2 * ROWS)
        return [
            {"size": size, "unpacked": "SRGGB10", "crop_limits": (8, 6, 16, 12)},
            {"size": twice, "unpacked": "SRGGB10", "crop_limits": (0, 0, 32, 24)},
            {"size": size, "unpacked": "SRGGB10", "crop_limits": (0, 0, 32, 24)},
        ]

    def create_video_configuration(self, raw: dict[str, Any], queue: bool) -> dict[str, Any]:
        assert raw == {"format": "SRGGB10", "size": (COLS, ROWS)}
        return {"raw": raw, "queue": queue}

    def configure(self, config: dict[str, Any]) -> None:
        assert self.state == "open", "it is configured before it is started"
        self.config, self.state = config, "configured"

    def camera_configuration(self) -> dict[str, Any]:
        return {"raw": {**self.config["raw"], "format": self.raw_format}}

    def start(self) -> None:
        if self.state != "configured":
            raise RuntimeError("Camera has not been configured")
        self.state, self.begun_s = "started", time.monotonic()

    def set_controls(self, values: dict[str, Any]) -> None:
        if self.state != "started":
            raise RuntimeError("controls are set after start()")
        if self.fault:
            raise RuntimeError(self.fault)
        if "LensPosition" in values:
            assert values["AfMode"] == controls.AfModeEnum.Manual, "the lens is moved in manual mode only"
            if not self.stuck:
                self.moves.append((self.frame_now(), values["LensPosition"]))
        else:
            self.held.update(values)

    def capture_request(self, wait: bool) -> object:
        assert wait is False
        if self.state != "started":
            raise RuntimeError("capture before start()")
        return SimpleNamespace(of=self.frame_now())

    def wait(self, job: Any, timeout: float) -> FakeRequest:
        if self.stalled or self.out >= BUFFERS:
            time.sleep(timeout)
            raise TimeoutError
        # Without a queue, the frame that was being exposed when it was asked for.
        frame = job.of - 2 if self.config["queue"] else job.of
        time.sleep(max(self.begins_s(frame) + PERIOD_S - time.monotonic(), 0))
        self.out += 1
        return FakeRequest(self, frame)

    def cancel_all_and_flush(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def close(self) -> None:
        assert self.state != "closed"
        self.state = "closed"

    def frame_now(self) -> int:
        return int((time.monotonic() - self.begun_s) / PERIOD_S)

    def begins_s(self, frame: int) -> float:
        return self.begun_s + frame * PERIOD_S

    def told_at(self, frame: int) -> float:
        """Returns the control that applies to a frame."""
        return [to for ordered, to in self.moves if ordered + LATE <= frame][-1]

    def truly_at(self, frame: int) -> float:
        """Returns where the lens is while a frame is exposed: on its way for a while."""
        (_, before), (ordered, to) = [(-200, 1.0), *(one for one in self.moves if one[0] + LATE <= frame)][
            -2:
        ]
        way = min((frame - ordered - LATE) / self.travel, 1.0)
        return before + (to - before) * way
