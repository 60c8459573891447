"""A connection to an INDI server: what its devices say of themselves, and waiting for what they will say.

There is no thread: whoever waits reads. A property is a `Vector` of named values with a state (Idle, Ok,
Busy, Alert); pictures (BLOBs) are kept apart, the last few only. `abort` alone may be called from another
thread.
"""

import base64
import math
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

from dioptre.cameras.indi_messages import Member, Message, MessageParser, to_xml
from dioptre.errors import CameraError, CameraTimeoutError

KEPT_BLOBS = 4
MOST_PROPERTIES = 100_000
RECEIVED = 1 << 20  # bytes asked of the socket at once

T = TypeVar("T")


class LostError(CameraError):
    """A driver or the server went away; connecting anew may help."""


@dataclass
class Vector:
    """A property of a device.

    Attributes:
        kind: Number, Switch, Text, Light or BLOB.
        state: Idle, Ok, Busy or Alert; Busy from the moment in which a new value is sent.
        values: The values by their names, as text.
        limits: Of numbers, the lowest and the highest.
    """

    kind: str
    state: str
    values: dict[str, str] = field(default_factory=dict)
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)

    def number(self, name: str) -> float:
        """Returns a value as a number; not a number if it is none."""
        return _number(self.values.get(name, ""))

    def take(self, members: Sequence[Member]) -> None:
        """Replaces the values by those of a message, and the limits if it has any."""
        for one in members:
            name, told = one.attributes.get("name", ""), one.attributes
            self.values[name] = one.text
            if "min" in told and "max" in told:
                self.limits[name] = _number(told["min"]), _number(told["max"])


@dataclass(frozen=True)
class Blob:
    """A picture, or whatever else a device sends as bytes; the format is a suffix such as .fits."""

    device: str
    format: str
    data: bytes


class IndiClient:
    """A connection to an INDI server.

    Attributes:
        devices: The properties of each device by their names.
        blobs: The last pictures that came.
        complaints: What each device said last of something that went wrong.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self.devices: dict[str, dict[str, Vector]] = {}
        self.blobs: deque[Blob] = deque(maxlen=KEPT_BLOBS)
        self.complaints: dict[str, str] = {}
        self.name = f"the INDI server {host}:{port}"
        self._address, self._timeout_s = (host, port), timeout_s
        self._aborted = Event()
        self._socket: socket.socket | None = None
        self._parser = MessageParser()
        self.connect()
        self._woken, self._waker = socket.socketpair()

    def connect(self) -> None:
        """Connects to the server, or connects again, and asks for its devices.

        Raises:
            CameraError: If it cannot be reached.
        """
        self._hang_up()
        self.devices.clear()
        self.blobs.clear()
        self._parser = MessageParser()
        try:
            self._socket = socket.create_connection(self._address, timeout=self._timeout_s)
            # Messages are short and waited for: none is kept back to go with the next.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except TimeoutError:
            raise CameraTimeoutError(f"{self.name} did not answer in {self._timeout_s:g} s") from None
        except (OSError, UnicodeError, OverflowError) as error:
            raise CameraError(f"{self.name} cannot be reached: {error}") from None
        self._write(to_xml("getProperties", {"version": "1.7"}))

    @property
    def is_connected(self) -> bool:
        """Whether the server has not hung up yet, as far as is known."""
        return self._socket is not None

    def close(self) -> None:
        """Ends the connection for good."""
        self._hang_up()
        self._woken.close()
        self._waker.close()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def abort(self) -> None:
        """Makes a wait in another thread raise CameraError."""
        self._aborted.set()
        with suppress(OSError):  # closed meanwhile
            self._waker.send(b"!")

    def begin(self) -> None:
        """Forgets an abort that came between two waits, and reads the messages that arrived meanwhile."""
        self._aborted.clear()
        while self._hear(0.0):
            pass

    def vector(self, device: str, name: str) -> Vector:
        """Returns a property.

        Raises:
            LostError: If the device does not have it (any more).
        """
        if name not in self.devices.get(device, {}):
            raise LostError(f"{device} has no {name} on {self.name} (any more)")
        return self.devices[device][name]

    def set(self, device: str, name: str, values: Mapping[str, str | float]) -> Vector:
        """Sends new values of a property, which is Busy from now on until the driver answers."""
        vector = self.vector(device, name)
        vector.state = "Busy"
        texts = {key: value if isinstance(value, str) else repr(value) for key, value in values.items()}
        self._write(to_xml(f"new{vector.kind}Vector", {"device": device, "name": name}, texts))
        return vector

    def want_blobs(self, device: str) -> None:
        """Asks for the pictures of a device, beside everything else."""
        self._write(to_xml("enableBLOB", {"device": device}, "Also"))

    def wait(
        self,
        ready: Callable[[], T | None],
        what: str,
        timeout_s: float,
        sign: Callable[[], object] = lambda: None,
        longest_s: float = math.inf,
    ) -> T:
        """Waits until `ready` returns something, and returns that.

        Args:
            ready: Asked after every message.
            what: What is waited for, for the error.
            timeout_s: How long nothing may happen.
            sign: A sign of life: whenever it changes, the time begins anew.
            longest_s: How long all of it may take, whatever signs of life there are.

        Raises:
            CameraTimeoutError: If it takes too long.
            LostError: If the server hangs up.
            CameraError: If another thread aborted.
        """
        began = time.monotonic()
        last, deadline, latest = sign(), began + timeout_s, began + longest_s
        while (found := ready()) is None:
            left = min(deadline, latest) - time.monotonic()
            if left <= 0:
                waited = min(timeout_s, longest_s)
                raise CameraTimeoutError(f"{what} did not happen in {waited:g} s on {self.name}")
            self._hear(left)
            if (now := sign()) != last:
                last, deadline = now, time.monotonic() + timeout_s
        return found

    def pause(self, seconds: float) -> None:
        """Waits, and reads messages meanwhile."""
        with suppress(CameraTimeoutError):
            self.wait(lambda: None, "", seconds)

    def _write(self, data: bytes) -> None:
        if self._socket is None:
            raise LostError(f"{self.name} is not connected")
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(str(error)) from None

    def _lost(self, why: str) -> LostError:
        self._hang_up()
        return LostError(f"{self.name} is gone: {why}")

    def _hear(self, seconds: float) -> bool:
        """Reads the messages that arrive within a time; returns whether there were any."""
        if self._socket is None:
            raise LostError(f"{self.name} is not connected")
        try:
            can_read = select.select([self._socket, self._woken], [], [], seconds)[0]
            if self._woken in can_read:
                self._woken.recv(RECEIVED)
            data = self._socket.recv(RECEIVED) if self._socket in can_read else None
        except (OSError, ValueError) as error:  # a closed socket has no number
            raise self._lost(str(error)) from None
        if self._aborted.is_set():
            raise CameraError("the capture was aborted")
        if data is None:
            return False
        if not data:
            raise self._lost("it hung up")
        for message in self._parser.feed(data):
            self._take(message)
        return True

    def _take(self, message: Message) -> None:
        """Applies a message to the properties that it names."""
        tag, attributes = message.tag, message.attributes
        device, name = attributes.get("device", ""), attributes.get("name", "")
        if attributes.get("message", "").startswith(("[ERROR]", "[WARNING]")):
            self.complaints[device] = attributes["message"].partition("] ")[2]
        if tag.startswith("def"):
            kind = tag.removeprefix("def").removesuffix("Vector")
            vector = Vector(kind, attributes.get("state", "Idle"))
            vector.take(message.members)
            self.devices.setdefault(device, {})[name] = vector
            if sum(map(len, self.devices.values())) > MOST_PROPERTIES:
                raise CameraError(f"{self.name} tells of more than {MOST_PROPERTIES} properties")
        elif tag == "setBLOBVector":
            self._update(device, name, attributes)
            self.blobs.extend(blob for one in message.members if (blob := _blob(device, one)) is not None)
        elif tag.startswith("set"):
            known = self._update(device, name, attributes)
            if known is not None:
                known.take(message.members)
        elif tag == "delProperty":
            gone = self.devices.get(device, {}) if name else self.devices
            gone.pop(name or device, None)
        elif tag == "pingRequest":
            self._write(to_xml("pingReply", {"uid": attributes.get("uid", "")}))

    def _update(self, device: str, name: str, attributes: Mapping[str, str]) -> Vector | None:
        vector = self.devices.get(device, {}).get(name)
        if vector is not None:
            vector.state = attributes.get("state", vector.state)
        return vector


def once_more(client: IndiClient, look: Callable[[], T], set_up: Callable[[], object]) -> T:
    """Returns what a look does; after a driver was restarted or a connection cut, once more from the start.

    Args:
        client: The connection.
        look: What is done; raises LostError if something went away.
        set_up: Connects the devices again, once the server is connected.
    """
    try:
        client.begin()
        return look()
    except LostError:
        if not client.is_connected:
            client.connect()
        set_up()
        return look()


def _blob(device: str, member: Member) -> Blob | None:
    """Returns the bytes of a member, or nothing if there are none."""
    try:
        data = base64.b64decode(member.text)
    except ValueError as error:  # also letters that base64 does not know
        raise CameraError(f"{device} sent a picture that is not base64: {error}") from None
    return Blob(device, member.attributes.get("format", ""), data) if data else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
