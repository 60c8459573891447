"""INDI's messages: XML elements that follow one another for as long as a connection lasts.

A message is an element such as `<setNumberVector device= name= state=>` whose members are elements such as
`<oneNumber name=>36700</oneNumber>`. There is no element around them all, so the parser is given one first;
after it a document type, and with it any entity, is a fault. What is parsed comes from a network: a message
that grows beyond what memory allows is refused while it arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import escape, quoteattr

from dioptre.errors import CameraError
from dioptre.resources import refuse_larger

CHUNK = 1 << 20  # characters of text that the parser hands over at once
ELEMENT = 1000  # bytes that an element takes beside its text, about
MEMBER_DEPTH = 2  # of elements: the one around all, the message, its members


@dataclass
class Member:
    """One value of a message.

    Attributes:
        attributes: Its name, its limits, its format.
        text: The value as it was sent, without the blanks around it.
    """

    attributes: Mapping[str, str]
    text: str = ""


@dataclass
class Message:
    """One message.

    Attributes:
        tag: What kind it is, such as setNumberVector.
        attributes: The device and property that it is about, its state, a time.
        members: The values.
    """

    tag: str
    attributes: Mapping[str, str]
    members: list[Member] = field(default_factory=list)


class MessageParser:
    """Turns bytes, as they arrive, into messages."""

    def __init__(self) -> None:
        # INDI is ASCII by its definition; a driver that sends its degree sign in some code does no harm so.
        self._expat = ParserCreate("iso-8859-1")
        self._expat.buffer_text, self._expat.buffer_size = True, CHUNK
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._collect
        self._depth, self._size = 0, 0
        self._texts: list[str] = []
        self._message: Message | None = None
        self._done: list[Message] = []
        self._expat.Parse(b"<indi>", False)

    def feed(self, data: bytes) -> list[Message]:
        """Returns the messages that these bytes complete.

        Raises:
            CameraError: If they are not INDI's XML, or more than memory allows.
        """
        try:
            self._expat.Parse(data, False)
        except ExpatError as error:
            raise CameraError(f"what the server sends is not INDI's XML: {error}") from None
        done, self._done = self._done, []
        return done

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._depth == 1:
            self._message, self._size = Message(tag, attributes), 0
        elif self._depth == MEMBER_DEPTH and self._message is not None:
            self._message.members.append(Member(attributes))
            self._texts = []
        self._grow(ELEMENT + sum(len(name) + len(value) for name, value in attributes.items()))
        self._depth += 1

    def _grow(self, size: int) -> None:
        self._size += size
        refuse_larger("an INDI message", self._size, CameraError)

    def _collect(self, text: str) -> None:
        self._grow(len(text))
        if self._depth == MEMBER_DEPTH + 1:
            self._texts.append(text)

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        if self._message is None:
            return
        if self._depth == MEMBER_DEPTH:
            self._message.members[-1].text = "".join(self._texts).strip()
        elif self._depth == 1:
            self._done.append(self._message)
            self._message = None


def to_xml(tag: str, attributes: Mapping[str, str], members: Mapping[str, str] | str = "") -> bytes:
    """Returns a message of a client's.

    Args:
        tag: What kind: newNumberVector has members oneNumber, and so on.
        attributes: The device and property that it is about.
        members: Names and values, or the text of a message that has only that.
    """
    one = tag.replace("new", "one").replace("Vector", "")
    inner = (
        escape(members)
        if isinstance(members, str)
        else "".join(
            f"<{one} name={quoteattr(name)}>{escape(text)}</{one}>" for name, text in members.items()
        )
    )
    head = " ".join([tag, *(f"{name}={quoteattr(value)}" for name, value in attributes.items())])
    return f"<{head}>{inner}</{tag}>\n".encode("iso-8859-1", "xmlcharrefreplace")
