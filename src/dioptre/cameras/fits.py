"""FITS, as far as a camera's driver writes it: one picture after its header.

A header is cards of 80 characters in blocks of 2880 bytes up to END; the picture follows, big-endian, its
last axis first in the header. A value is BZERO + BSCALE x what is stored: 16-bit cameras store their counts
less 32768. Rows stay in the order in which they are stored.
"""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float32, Float64

from dioptre.errors import CameraError
from dioptre.resources import refuse_larger

BLOCK, CARD = 2880, 80
TYPES = {8: ">u1", 16: ">i2", 32: ">i4", 64: ">i8", -32: ">f4", -64: ">f8"}
EXACT = (8, 16, -32)  # what single precision holds

Cards = Mapping[str, str | float | bool]
Counts = Float32[np.ndarray, "*shape"] | Float64[np.ndarray, "*shape"]


def read_fits(data: bytes) -> tuple[Cards, Counts]:
    """Returns the cards of the header and the picture in counts, of the axes ([plane,] row, col).

    Raises:
        CameraError: If these bytes are not a FITS picture, or fewer than their header says.
    """
    cards, begins = read_header(data)
    bitpix, shape = cards.get("BITPIX"), _shape_of(cards)
    if not isinstance(bitpix, float) or bitpix not in TYPES:
        raise CameraError(f"a FITS picture has BITPIX {', '.join(map(str, TYPES))}, not {bitpix!r}")
    stored = np.dtype(TYPES[int(bitpix)])
    count = math.prod(shape)
    refuse_larger("a FITS picture", 8 * count, CameraError)
    if len(data) - begins < count * stored.itemsize:
        raise CameraError(
            f"a FITS picture of {' x '.join(map(str, shape))} takes {count * stored.itemsize} bytes, "
            f"but {max(len(data) - begins, 0)} came"
        )
    values = np.frombuffer(data, stored, count, begins).reshape(shape)
    counts: np.ndarray = values.astype(np.float32 if bitpix in EXACT else np.float64)
    scale, zero = _number(cards, "BSCALE", 1.0), _number(cards, "BZERO", 0.0)
    if scale != 1.0:
        counts *= scale
    if zero != 0.0:
        counts += zero
    return cards, counts


def read_header(data: bytes) -> tuple[Cards, int]:
    """Returns the cards of a header by their keywords, and where the picture begins.

    Raises:
        CameraError: If it does not begin as a FITS file, or never ends.
    """
    if not data.startswith(b"SIMPLE  ="):
        raise CameraError(f"a FITS file begins with SIMPLE, not with {data[:9]!r}")
    cards: dict[str, str | float | bool] = {}
    for at in range(0, len(data) - CARD + 1, CARD):
        card = data[at : at + CARD].decode("ascii", "replace")
        keyword = card[:8].rstrip()
        if keyword == "END":
            return cards, (at // BLOCK + 1) * BLOCK
        if card[8:10] == "= ":
            cards[keyword] = _value(card[10:])
    raise CameraError("a FITS header ends with END, and this one does not")


def _value(text: str) -> str | float | bool:
    """Returns the value of a header card, without its comment."""
    text = text.strip()
    if text.startswith("'"):
        quoted, at = "", 1
        while (ends := text.find("'", at)) >= 0:
            quoted += text[at:ends]
            if text[ends : ends + 2] != "''":
                return quoted.rstrip()
            quoted, at = quoted + "'", ends + 2
        return text[1:].rstrip()
    plain = text.split("/")[0].strip()
    if plain in ("T", "F"):
        return plain == "T"
    try:
        return float(plain.replace("D", "E"))
    except ValueError:
        return plain


def _number(cards: Cards, keyword: str, usual: float) -> float:
    """Returns the number of a card that may be missing."""
    value = cards.get(keyword, usual)
    if not isinstance(value, float) or not math.isfinite(value):
        raise CameraError(f"{keyword} of a FITS picture is a finite number, not {value!r}")
    return value


def _shape_of(cards: Cards) -> tuple[int, ...]:
    """Returns the lengths of the axes, the last in the header first."""
    axes = cards.get("NAXIS")
    if axes not in (2.0, 3.0):
        raise CameraError(f"a FITS picture has 2 axes, or 3 with colour, not NAXIS {axes!r}")
    lengths = [cards.get(f"NAXIS{axis}") for axis in range(int(float(axes)), 0, -1)]
    if not all(isinstance(length, float) and length.is_integer() and length > 0 for length in lengths):
        raise CameraError(f"the axes of a FITS picture have whole lengths, not {lengths}")
    return tuple(int(length) for length in lengths if isinstance(length, float))
