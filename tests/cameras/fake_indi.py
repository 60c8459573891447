"""An INDI server in a thread, whose faults can be chosen: what the simulators do not do by themselves."""

import base64
import socket
import threading
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np

from dioptre.cameras.indi_messages import Message, MessageParser

ROWS, COLS, HIGHEST = 8, 12, 1000


def fits(counts: np.ndarray, cards: dict[str, Any] | None = None, bitpix: int = 16) -> bytes:
    """Returns a FITS file, written as the standard says."""
    kind = {8: ">u1", 16: ">i2", 32: ">i4", -32: ">f4", -64: ">f8"}[bitpix]
    zero = 32768 if bitpix == 16 else 0
    lengths = {f"NAXIS{at + 1}": length for at, length in enumerate(counts.shape[::-1])}
    head = {"SIMPLE": True, "BITPIX": bitpix, "NAXIS": counts.ndim, **lengths, "BZERO": zero, **(cards or {})}
    text = "".join(f"{key:<8}= {_card(value):>20} / {key.lower()}".ljust(80) for key, value in head.items())
    text += "COMMENT a = b".ljust(80) + "END".ljust(80)
    data = (counts.astype(np.float64) - zero).astype(kind).tobytes()
    return b"".join(part + pad * (-len(part) % 2880) for part, pad in ((text.encode(), b" "), (data, b"\0")))


def _card(value: Any) -> str:
    if isinstance(value, bool):
        return "T" if value else "F"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@dataclass
class FakeIndi:
    """A server with the devices "Eye" and "Motor".

    Attributes:
        stale: How many pictures say that they were taken elsewhere before one is of here.
        late: Whether a picture of before comes while our exposure still runs.
        card: Whether pictures say where they were taken.
        alert: Positions above this are refused.
        mute: What is not answered: "move", "exposure".
        hang_up: What makes the server hang up, once: "move", "exposure".
        packed: Whether pictures are sent packed.
        cards: Further cards of a picture.
        instead: What its devices say of themselves, in the place of something else.
        moves: Where the focuser was sent.
        exposures: How often there was an exposure.
        heard: Names of all properties that were set.
    """

    stale: int = 0
    late: bool = False
    card: bool = True
    alert: float = HIGHEST
    mute: set[str] = field(default_factory=set)
    hang_up: set[str] = field(default_factory=set)
    packed: bool = False
    cards: dict[str, Any] = field(default_factory=dict)
    instead: dict[str, str] = field(default_factory=dict)
    moves: list[float] = field(default_factory=list)
    exposures: int = 0
    heard: list[str] = field(default_factory=list)
    position: float = 0.0

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._talks: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for one in self._connections:
            with suppress(OSError):  # closed meanwhile
                one.shutdown(socket.SHUT_RDWR)
        for thread in (self._thread, *self._talks):
            thread.join(5)
            assert not thread.is_alive()

    def _serve(self) -> None:
        with self._listener:
            while True:
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    return
                self._connections.append(connection)
                talk = threading.Thread(target=self._talk, args=(connection,))
                self._talks.append(talk)
                talk.start()

    def _talk(self, connection: socket.socket) -> None:
        parser = MessageParser()
        with connection:
            try:
                while data := connection.recv(1 << 16):
                    for message in parser.feed(data):
                        if not self._answer(connection, message):
                            return
            except OSError:
                return

    def _answer(self, connection: socket.socket, message: Message) -> bool:
        """Answers one message; returns whether to go on."""
        name = message.attributes.get("name", message.tag)
        self.heard.append(name)
        said = {one.attributes["name"]: one.text for one in message.members}
        what = {"ABS_FOCUS_POSITION": "move", "CCD_EXPOSURE": "exposure"}.get(name, "")
        if what in self.hang_up:
            self.hang_up.remove(what)
            return False
        if name == "getProperties":
            connection.sendall(self._definitions().encode())
        elif what == "move" and what not in self.mute:
            self._move(connection, float(said["FOCUS_ABSOLUTE_POSITION"]))
        elif what == "exposure" and what not in self.mute:
            self._expose(connection)
        return True

    def _definitions(self) -> str:
        def driver(device: str, interface: int) -> str:
            return (
                f"<defSwitchVector device='{device}' name='CONNECTION' state='Ok'>"
                f"<defSwitch name='CONNECT'>On</defSwitch></defSwitchVector>"
                f"<defTextVector device='{device}' name='DRIVER_INFO' state='Ok'>"
                f"<defText name='DRIVER_INTERFACE'>{interface}</defText></defTextVector>"
            )

        told = (
            f"{driver('Eye', 2)}{driver('Motor', 8)}"
            "<defNumberVector device='Motor' name='ABS_FOCUS_POSITION' state='Ok'>"
            f"<defNumber name='FOCUS_ABSOLUTE_POSITION' min='0' max='{HIGHEST}'>{self.position}</defNumber>"
            "</defNumberVector><defSwitchVector device='Motor' name='FOCUS_ABORT_MOTION' state='Idle'>"
            "<defSwitch name='ABORT'>Off</defSwitch></defSwitchVector>"
            "<defSwitchVector device='Eye' name='CCD_ABORT_EXPOSURE' state='Idle'>"
            "<defSwitch name='ABORT'>Off</defSwitch></defSwitchVector>"
            "<defNumberVector device='Eye' name='CCD_EXPOSURE' state='Idle'>"
            "<defNumber name='CCD_EXPOSURE_VALUE' min='0.01' max='3600'>1</defNumber></defNumberVector>"
            "<defNumberVector device='Eye' name='CCD_INFO' state='Ok'>"
            f"<defNumber name='CCD_MAX_X'>{COLS}</defNumber><defNumber name='CCD_MAX_Y'>{ROWS}</defNumber>"
            "<defNumber name='CCD_BITSPERPIXEL'>16</defNumber></defNumberVector>"
            "<defBLOBVector device='Eye' name='CCD1' state='Idle'><defBLOB name='CCD1'/></defBLOBVector>"
        )
        for usual, other in self.instead.items():
            assert usual in told
            told = told.replace(usual, other)
        return told

    def _move(self, connection: socket.socket, target: float) -> None:
        if target > self.alert:
            connection.sendall(
                b"<message device='Motor' message='[ERROR] cannot go so far'/>"
                + _number("Motor", "Alert", self.position)
            )
            return
        self.moves.append(target)
        for position in np.linspace(self.position, target, 4)[1:]:
            self.position = float(position)
            connection.sendall(_number("Motor", "Busy", self.position))
            time.sleep(0.005)
        connection.sendall(_number("Motor", "Ok", self.position))

    def _expose(self, connection: socket.socket) -> None:
        self.exposures += 1
        busy, done = _number("Eye", "Busy", 0.1), _number("Eye", "Ok", 0.0)
        if self.late:
            self.late = False
            connection.sendall(
                busy + self._picture(self.position + 100) + self._picture(self.position) + done
            )
            return
        elsewhere, self.stale = self.stale > 0, max(self.stale - 1, 0)
        connection.sendall(busy + done + self._picture(self.position + (100 if elsewhere else 0)))

    def _picture(self, taken_at: float) -> bytes:
        """Returns a picture whose every pixel is the position at which it was taken."""
        cards = {"FOCUSPOS": taken_at, **self.cards} if self.card else self.cards
        data = fits(np.full((ROWS, COLS), taken_at), cards)
        suffix, data = (".fits.z", zlib.compress(data)) if self.packed else (".fits", data)
        text = base64.encodebytes(data).decode()
        return (
            f"<setBLOBVector device='Eye' name='CCD1' state='Ok'>"
            f"<oneBLOB name='CCD1' size='{len(data)}' format='{suffix}'>{text}</oneBLOB></setBLOBVector>"
        ).encode()


def _number(device: str, state: str, value: float) -> bytes:
    name, member = {
        "Motor": ("ABS_FOCUS_POSITION", "FOCUS_ABSOLUTE_POSITION"),
        "Eye": ("CCD_EXPOSURE", "CCD_EXPOSURE_VALUE"),
    }[device]
    return (
        f"<setNumberVector device='{device}' name='{name}' state='{state}'>"
        f"<oneNumber name='{member}'>{value}</oneNumber></setNumberVector>"
    ).encode()
