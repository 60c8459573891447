"""Zeiss' files, written from the published layout (ZISRAW): what Zeiss' library reads, without a microscope.

A file is segments, each a name of 16 bytes, its length twice, and its content: a header that says where the
directory and the metadata are, a sub-block for each picture, the directory of these, and XML.
"""

import struct
from itertools import product
from pathlib import Path

import numpy as np

GRAY8, GRAY16 = 0, 1
ALIGNED = 32


def write_czi(path: Path, codes: np.ndarray, axes: str, xml: str) -> None:
    """Writes pictures of 8 or 16 bits; axes end in YX, such as CZYX."""
    body = bytearray(_segment(b"ZISRAWFILE", bytes(80)))
    entries = []
    for at in product(*(range(n) for n in codes.shape[:-2])):
        place, picture = len(body), np.ascontiguousarray(codes[at])
        entry = _entry(place, dict(zip(axes, at, strict=False)), picture)
        head = struct.pack("<iiq", 0, 0, picture.nbytes) + entry
        body += _segment(b"ZISRAWSUBBLOCK", head.ljust(256, b"\0") + picture.tobytes())
        entries.append(entry)
    directory, text = len(body), xml.encode()
    body += _segment(b"ZISRAWDIRECTORY", struct.pack("<i124x", len(entries)) + b"".join(entries))
    metadata = len(body)
    body += _segment(b"ZISRAWMETADATA", struct.pack("<ii248x", len(text), 0) + text)
    header = struct.pack("<iiii16s16siqqiq", 1, 0, 0, 0, b"", b"", 0, directory, metadata, 0, 0)
    body[32 : 32 + len(header)] = header
    path.write_bytes(bytes(body))


def _segment(name: bytes, content: bytes) -> bytes:
    padded = content + bytes(-len(content) % ALIGNED)
    return struct.pack("<16sqq", name, len(padded), len(content)) + padded


def _entry(place: int, at: dict[str, int], picture: np.ndarray) -> bytes:
    kind = GRAY8 if picture.dtype == np.uint8 else GRAY16
    rows, cols = picture.shape
    sizes = [("X", 0, cols), ("Y", 0, rows), *((axis, index, 1) for axis, index in at.items())]
    dimensions = b"".join(
        struct.pack("<4siifi", name.encode(), start, size, 0.0, size) for name, start, size in sizes
    )
    return struct.pack("<2siqiiBB4si", b"DV", kind, place, 0, 0, 0, 0, b"", len(sizes)) + dimensions
