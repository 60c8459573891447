"""From a camera to a recording: its lens is swept from far to near, and a frame kept at each position."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dioptre.autofocus.controller import Halt, LensController
from dioptre.cameras.base import Camera, ConnectedCamera, Frame, connect
from dioptre.errors import CameraError, InputError
from dioptre.focusing.trace import Act
from dioptre.grid import FocusGrid
from dioptre.pipeline.settings import Sweep
from dioptre.store.recordings import Recording, write_recording

Progress = Callable[[int, int], None]


def places_of(grid: FocusGrid, how: Sweep) -> list[int]:
    """Returns the indices that are recorded, rising.

    Raises:
        InputError: If the grid does not have them, or they are fewer than two.
    """
    first, last = how.limits_on(grid)
    if first == last or how.every < 1:
        raise InputError(
            f"a sweep leads from one position to another, by one or more at a time, not from "
            f"{grid.positions[first]:g} to {grid.positions[last]:g} by {how.every}"
        )
    return list(range(first, last + 1, how.every))


def record(camera: Camera, device: str, out: Path, how: Sweep, progress: Progress) -> Recording:
    """Writes a sweep of a camera as a stack, far to near, and returns what is known of it.

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
    connected = connect(camera)
    places = places_of(connected.grid, how)
    drive = LensController(connected, how, threading.Event())
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
        found.append(describe_sweep(connected, device, places, when))
        return found[0]

    try:
        write_recording(out, frames(), describe)
    except Halt as halt:
        raise CameraError(f"{device}: {halt.sentence}") from None
    finally:
        drive.close()
    return found[0]


def describe_sweep(camera: ConnectedCamera, device: str, places: list[int], when: list[float]) -> Recording:
    """Returns the description of a sweep: device, positions, times, and the place in the frame."""
    grid = camera.grid
    return Recording(
        device=device,
        dioptres=[float(one) if np.isfinite(one) else None for one in grid.dioptres[places]],
        unit=grid.unit,
        positions=tuple(grid.positions[places].tolist()),
        nearer=grid.nearer,
        where=camera.where,
        seconds=tuple(round(one, 4) for one in when),
    )
