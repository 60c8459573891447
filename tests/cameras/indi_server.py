"""The real indiserver with its simulators of a CCD, a focuser and a telescope, in a temporary folder.

The CCD's picture depends on the focuser: sharpest at 36700 of 0..100000. Stars come from a program `gsc`
(the look-up of a star catalogue), which here prints some that were drawn at random; without it the picture is
dark.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dioptre.cameras.indi_client import IndiClient
from dioptre.cameras.indi_devices import connect_device
from dioptre.errors import CameraError

BEST = 36_700  # steps: where the simulators' pictures are sharpest
CCD, FOCUSER, TELESCOPE = "CCD Simulator", "Focuser Simulator", "Telescope Simulator"
DRIVERS = ("indi_simulator_ccd", "indi_simulator_focus", "indi_simulator_telescope")
NEEDS = pytest.mark.skipif(
    not all(shutil.which(name) for name in ("indiserver", *DRIVERS)),
    reason="Debian's indi-bin is not installed (make indi)",
)
FAST = (  # (device, property, member, value): a frame takes a fraction of a second
    (CCD, "POLLING_PERIOD", "PERIOD_MS", 10.0),
    (CCD, "SIMULATOR_SETTINGS", "SIM_TIME_FACTOR", 0.01),
    (FOCUSER, "DELAY", "DELAY_VALUE", 1.0),
)


GSC = """#!{python} -S
# Looks up stars, as the catalogue's own program does: gsc -c RA DEC -r ARCMINUTES ...
# The same stars wherever the telescope points, as if it were guided: id, place, error, magnitude, ...
import math, random, sys
centre = math.radians(float(sys.argv[2])), math.radians(float(sys.argv[3]))
draw = random.Random(3)
for star in range(60):
    x, y, mag = draw.uniform(-4e-3, 4e-3), draw.uniform(-3.2e-3, 3.2e-3), draw.uniform(5, 9)
    down = math.cos(centre[1]) - y * math.sin(centre[1])
    ra = centre[0] + math.atan2(x, down)
    dec = math.atan2(math.sin(centre[1]) + y * math.cos(centre[1]), math.hypot(x, down))
    place = f"{{math.degrees(ra) % 360:.7f}} {{math.degrees(dec):+.7f}}"
    print(f"S{{star:09d}} {{place}} 0.1 {{mag:.2f}} 0.1 0 0 0000 F 1.0 0")
"""


def write_gsc(folder: Path) -> None:
    """Writes the program that looks up stars."""
    (folder / "gsc").write_text(GSC.format(python=sys.executable))
    (folder / "gsc").chmod(0o755)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(folder: Path, stars: bool = True) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Runs the server; gives its port and its process, and ends it with its drivers."""
    if stars:
        write_gsc(folder)
    port = free_port()
    home = {**os.environ, "HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["indiserver", "-p", str(port), "-r", "3", "-u", str(folder / "socket"), *DRIVERS]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=home, stderr=log) as server:
        try:
            hasten(port)
            yield port, server
        finally:
            server.terminate()


def connected(port: int) -> IndiClient:
    """Returns a client, as soon as the server answers."""
    for _ in range(100):
        try:
            return IndiClient("localhost", port, 5.0)
        except CameraError:
            time.sleep(0.05)
    raise AssertionError(f"indiserver did not come up on port {port}")


def hasten(port: int) -> None:
    """Connects the simulators and lets them take no longer than they must."""
    client = connected(port)
    for device in (FOCUSER, CCD, TELESCOPE):
        connect_device(client, device, (), 10.0)
    for device, name, member, value in FAST:
        connect_device(client, device, (name,), 10.0)
        client.set(device, name, {member: value})
    client.close()
