"""The real indiserver with its simulators of a CCD, a focuser and a telescope: a sky to try autofocus on.

    python -m lab.devices.indi_simulators                 runs until Ctrl-C, on port 7624
    python -m lab.devices.indi_simulators --starts 21     focuses from as many starts: how far off is it?

It needs Debian's indi-bin (`make indi`). Everything lies in a temporary folder.

The CCD's picture depends on the focuser: sharpest at 36700 of 0..100000. Stars come from a program `gsc`
(the look-up of a star catalogue), which here prints some that were drawn at random; without it the picture is
dark.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

import dioptre
from dioptre.cameras.indi import PORT, IndiCamera
from dioptre.cameras.indi_client import IndiClient
from dioptre.cameras.indi_devices import connect_device
from dioptre.errors import CameraError

BEST = 36_700  # steps: where the simulators' pictures are sharpest
CCD, FOCUSER, TELESCOPE = "CCD Simulator", "Focuser Simulator", "Telescope Simulator"
DRIVERS = ("indi_simulator_ccd", "indi_simulator_focus", "indi_simulator_telescope")
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
    """Returns a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def missing() -> list[str]:
    """Returns the programs that are needed and not installed."""
    return [name for name in ("indiserver", *DRIVERS) if shutil.which(name) is None]


@contextmanager
def running(
    folder: Path, stars: bool = True, port: int | None = None
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Runs the server; gives its port and its process, and ends it with its drivers."""
    if stars:
        write_gsc(folder)
    port = free_port() if port is None else port
    home = {**os.environ, "HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["indiserver", "-p", str(port), "-r", "3", "-u", str(folder / "socket"), *DRIVERS]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=home, stderr=log) as server:  # noqa: S603
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
    raise CameraError(f"indiserver did not come up on port {port}")


def hasten(port: int) -> None:
    """Connects the simulators and lets them take no longer than they must."""
    client = connected(port)
    for device in (FOCUSER, CCD, TELESCOPE):
        connect_device(client, device, (), 10.0)
    for device, name, member, value in FAST:
        connect_device(client, device, (name,), 10.0)
        client.set(device, name, {member: value})
    client.close()


def focus_from(port: int, starts: int) -> None:
    """Focuses from starts all over the way, and prints how far off the answers are."""
    offs = []
    with IndiCamera("localhost", port, CCD, FOCUSER) as camera:
        for begun in np.linspace(camera.grid.positions[0], camera.grid.positions[-1], starts).tolist():
            result = dioptre.Autofocus(camera, start=begun).run()
            off = float(camera.grid.positions[result.index]) - BEST
            offs.append(off)
            print(f"from {begun:6.0f}: {result.state}, {off:+.0f} steps, {len(result.trace)} frames")
            if camera.header["FOCUSPOS"] != camera.grid.positions[result.index]:
                raise CameraError("the focuser was left elsewhere")
    print(f"worst of {starts}: {max(map(abs, offs)):.0f} steps off {BEST}")


def main() -> None:
    """Runs the server, until Ctrl-C or until all starts were tried."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--starts", type=int, default=0)
    given = parser.parse_args()
    if missing():
        sys.exit(f"{', '.join(missing())} not found: apt install indi-bin, or make indi")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), port=given.port) as (port, server):
        if given.starts > 0:
            focus_from(port, given.starts)
            return
        print(f"dioptre run --device 'indi:localhost:{port}/{CCD}/{FOCUSER}'   (Ctrl-C ends)", flush=True)
        with suppress(KeyboardInterrupt):
            server.wait()


if __name__ == "__main__":
    main()
