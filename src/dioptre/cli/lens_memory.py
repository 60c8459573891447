"""Where the command line keeps what it learned of a lens: a file for each device, address and size of frame.

The files lie in the user's state folder. A lens of which another binning is read adds another blur in pixels,
so that is another file. Of recordings and simulated devices nothing is kept: `simulated:2` is another phone.
"""

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NONE: Final = "none"  # as the flag takes it
NOT_KEPT: Final = ("replay", "simulated")  # schemes
MOST_LETTERS: Final = 60  # of an address in a name; what it lacks is in its checksum


def memory_file(told: str | None, devices: tuple[str, ...], shape: tuple[int, int]) -> Path | None:
    """Returns the file that remembers a lens; None for none.

    Args:
        told: What `--memory` was given.
        devices: The addresses of camera and lens.
        shape: Rows and columns of a frame.
    """
    if told is not None:
        return None if told == NONE else Path(told)
    halves = [half for device in devices for half in _halves(device)]
    folder = state_folder(os.environ, sys.platform)
    if folder is None or any(half.partition(":")[0] in NOT_KEPT for half in halves):
        return None
    letters = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(halves)).strip("-")[:MOST_LETTERS]
    size = f"{shape[0]}x{shape[1]}"
    whole = hashlib.sha256(os.fsencode("\n".join([*map(_whole, halves), size])))
    return folder / "lenses" / f"{letters}-{size}-{whole.hexdigest()[:8]}.json"


def state_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Returns the folder in which programs of a user keep what they have learned, that of dioptre within it.

    None if the user has no home.

    Args:
        environment: The variables of the process.
        platform: As `sys.platform` has it.
    """
    home = os.path.expanduser("~")  # noqa: PTH111  # which stays ~ where there is no home
    if platform == "win32":
        own, usual = environment.get("LOCALAPPDATA", ""), "AppData/Local"
    elif platform == "darwin":
        own, usual = "", "Library/Application Support"
    else:
        own, usual = environment.get("XDG_STATE_HOME", ""), ".local/state"
    folder = Path(own) if own and Path(own).is_absolute() else Path(home) / usual
    return folder / "dioptre" if folder.is_absolute() else None


def _halves(device: str) -> tuple[str, ...]:
    """Returns the addresses of camera and lens where one address has both."""
    from dioptre.cameras.devices import PAIR, split_pair  # noqa: PLC0415

    scheme, _, rest = device.partition(":")
    return split_pair(rest) if scheme == PAIR else (device,)


def _whole(device: str) -> str:
    """Returns an address that means the same in every folder: a person's file with its folder."""
    from dioptre.cameras.own_file import is_own  # noqa: PLC0415

    return str(Path(device).absolute()) if is_own(device) else device
