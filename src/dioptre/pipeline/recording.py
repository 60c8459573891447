"""From a camera to a recording: its lens is swept from far to near, and a frame kept at each position."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dioptre.autofocus.controller import Halt, LensController, Rules
from dioptre.cameras.base import Camera, ConnectedCamera, Frame, connect
from dioptre.errors import CameraError, InputError
from dioptre.focusing.trace import Act
from dioptre.pipeline.settings import Sweep
from dioptre.store.recordings import Recording, write_recording

Progress = Callable[[int, int], None]


def places_of(camera: Camera, how: Sweep) -> list[int]:
    """Returns the positions that are recorded, rising.

    Raises:
        InputError: If the ladder does not have them.
    """
    last = len(camera.grid) - 1
    first, end = how.limits or (0, last)
    if not (0 <= first < end <= last) or how.every < 1:
        raise InputError(
            f"a sweep leads from a position to a nearer one of 0..{last}, by one or more at a time, not from "
            f"{first} to {end} by {how.every}"
        )
    return list(range(first, end + 1, how.every))


def record(camera: Camera, device: str, out: Path, how: Sweep, progress: Progress) -> Recording:
    """Writes a sweep of a camera as a stack, and returns what is known of it.

    Args:
        camera: The camera, open.
        device: Its address.
        out: A folder, new or empty.
        how: Which positions.
        progress: Told how many frames there are, and of how many.

    Raises:
        CameraError: If the camera fails, or the time is up; what was taken so far stays in the folder, which
            is then no complete recording.
    """
    places = places_of(camera, how)
    rules = Rules((places[0], places[-1]), how.backlash, how.settle, how.timeout)
    camera = connect(camera)
    drive = LensController(camera, rules, threading.Event())
    drive.act = Act.SWEEP
    when: list[float] = []

    def frames() -> Iterator[Frame]:
        for at in places:
            frame = drive.capture(at)
            when.append(drive.steps[-1].seconds)
            progress(len(when), len(places))
            yield frame

    found: list[Recording] = []

    def describe() -> Recording:
        found.append(describe_sweep(camera, device, places, when))
        return found[0]

    try:
        write_recording(out, frames(), describe)
    except Halt as halt:
        raise CameraError(f"{device}: {halt.sentence}") from None
    finally:
        drive.close()
    return found[0]


def describe_sweep(camera: ConnectedCamera, device: str, places: list[int], when: list[float]) -> Recording:
    """Returns what is known of frames at some positions of a camera."""
    dioptres = camera.grid.dioptres[places]
    return Recording(
        device=device,
        dioptres=[float(one) if np.isfinite(one) else None for one in dioptres],
        unit=camera.unit,
        positions=() if camera.positions is None else tuple(camera.positions[places].tolist()),
        where=camera.where,
        seconds=tuple(round(one, 4) for one in when),
    )
