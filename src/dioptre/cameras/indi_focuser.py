"""A focuser of an INDI server, which counts steps; alone it is a lens (`dioptre.Lens`)."""

import math
from contextlib import suppress
from typing import Final

from dioptre.cameras.device_base import Held
from dioptre.cameras.indi_client import IndiClient, once_more
from dioptre.cameras.indi_devices import FOCUSER, attended, connect_device, find_device
from dioptre.errors import CameraError

UNIT: Final = "steps"
TIMEOUT_S: Final = 30.0
HALF_A_STEP: Final = 0.5
PROPERTY: Final = "ABS_FOCUS_POSITION"
MEMBER: Final = "FOCUS_ABSOLUTE_POSITION"


class IndiFocuser(Held):
    """A focuser of an INDI server.

    Attributes:
        client: The connection, which closing ends.
        name: What the server calls it.
    """

    unit = UNIT
    step = 1.0  # focusers count whole steps

    def __init__(
        self, client: IndiClient, name: str = "", *, settle_s: float = 0.0, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Connects it.

        Args:
            client: A connection.
            name: Its name; the only one by default.
            settle_s: Seconds to wait after it has said that it has arrived.
            timeout_s: How long nothing may happen; of a move, as long as the position does not change.

        Raises:
            InputError: If there are several, and none is named.
            CameraError: If it cannot be found or connected.
        """
        self.client, self._settle_s, self._timeout_s = client, settle_s, timeout_s
        self.name = find_device(client, name, FOCUSER)
        self.set_up()

    def set_up(self) -> None:
        """Connects it, also after a crash."""
        connect_device(self.client, self.name, (PROPERTY,), self._timeout_s)

    def close(self) -> None:
        """Ends the connection; the device stays as it is."""
        self.client.close()

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest position; not numbers if the driver does not tell."""
        return self.client.vector(self.name, PROPERTY).limits.get(MEMBER, (math.nan, math.nan))

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest position."""
        low, high = self.range
        if not -math.inf < low < high < math.inf:
            raise CameraError(f"{self.name} does not tell how far it can go: say the positions")
        return low, high

    def position(self) -> float:
        """Returns where it says that it is."""
        return self.client.vector(self.name, PROPERTY).number(MEMBER)

    def move(self, position: float) -> None:
        """Goes to the nearest whole step, and returns when it says that it is there."""
        once_more(self.client, lambda: self.go(float(round(position))), self.set_up)

    def abort(self) -> None:
        """Makes a move in another thread stop, and raise CameraError."""
        self.client.abort()

    def go(self, steps: float) -> None:
        """Goes to a position, and returns when it says that it is there; raises LostError if it went away."""
        with attended(self.client, self.name, self.stop):
            self._go(steps)

    def _go(self, steps: float) -> None:
        client, device = self.client, self.name
        client.complaints.pop(device, None)
        client.set(device, PROPERTY, {MEMBER: steps})

        def is_there() -> bool | None:
            vector = client.vector(device, PROPERTY)
            if vector.state == "Alert":
                why = client.complaints.get(device, f"it stands at {vector.number(MEMBER):g}")
                raise CameraError(f"{device} refused position {steps:g}: {why}")
            arrived = vector.state != "Busy" and abs(vector.number(MEMBER) - steps) <= HALF_A_STEP
            return arrived or None

        def place() -> str:  # as text: what is not a number would differ from itself
            return client.vector(device, PROPERTY).values.get(MEMBER, "")

        client.wait(is_there, f"the move of {device} to {steps:g}", self._timeout_s, place)
        client.pause(self._settle_s)

    def stop(self) -> None:
        """Stops a move, as far as the driver can."""
        if "FOCUS_ABORT_MOTION" in self.client.devices.get(self.name, {}):
            with suppress(CameraError):  # what went wrong before is what is told
                self.client.set(self.name, "FOCUS_ABORT_MOTION", {"ABORT": "On"})
