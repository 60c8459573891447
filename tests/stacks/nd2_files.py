"""Nikon's files, written so that `nd2` reads them, without a microscope.

A file is chunks, each a magic number, the lengths of its name and its data, and these; a map of all chunks
comes last. Metadata are a tree of named values, a byte for the type of each.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

MAGIC, NAME_BYTES = 0x0ABECEDA, 4072
SIGNATURE, FILE_MAP = b"ND2 FILE SIGNATURE CHUNK NAME01!", b"ND2 FILEMAP SIGNATURE NAME 0001!"
CHUNK_MAP = b"ND2 CHUNK MAP SIGNATURE 0000001!"
Z_LOOP = 4
BOOL, UINT32, DOUBLE, STRING, LEVEL = 1, 3, 6, 8, 11


def write_nd2(path: Path, codes: np.ndarray, channels: list[str], step_um: float) -> None:
    """Writes pictures (slice, channel, row, col) of 16 bits."""
    slices, count, rows, cols = codes.shape
    probe = {"pFluorescentProbe": {"uiColor": 255}}  # which nd2 0.12 wants
    planes = {f"a{at}": {"sDescription": name, "uiCompCount": 1, **probe} for at, name in enumerate(channels)}
    trees: dict[str, dict[str, Any]] = {
        "ImageAttributesLV!": {
            "SLxImageAttributes": {
                "uiWidth": cols, "uiWidthBytes": 2 * cols * count, "uiHeight": rows, "uiComp": count,
                "uiBpcInMemory": 16, "uiBpcSignificant": 16, "uiSequenceCount": slices, "eCompression": 2,
            }
        },
        "ImageMetadataSeqLV|0!": {
            "SLxPictureMetadata": {
                "bCalibrated": True, "dCalibration": 0.1,
                "sPicturePlanes": {"uiCount": count, "sPlaneNew": planes},
            }
        },
        "ImageMetadataLV!": {
            "SLxExperiment": {"eType": Z_LOOP, "uLoopPars": {"uiCount": slices, "dZStep": step_um}}
        },
    }  # fmt: skip
    body, places = bytearray(_chunk(SIGNATURE, b"Ver3.0".ljust(64, b"\0"), 32)), []
    chunks = [(name, _tree(tree)) for name, tree in trees.items()]
    chunks += [
        (f"ImageDataSeq|{at}!", bytes(8) + np.moveaxis(one, 0, -1).tobytes()) for at, one in enumerate(codes)
    ]
    for name, data in chunks:
        places.append(name.encode() + struct.pack("<QQ", len(body), len(data)))
        body += _chunk(name.encode(), data)
    end = struct.pack("<32sQ", CHUNK_MAP, len(body))
    body += _chunk(FILE_MAP, b"".join(places) + end)
    path.write_bytes(bytes(body))


def _chunk(name: bytes, data: bytes, reserved: int = NAME_BYTES) -> bytes:
    return struct.pack("<IIQ", MAGIC, reserved, len(data)) + name.ljust(reserved, b"\0") + data


def _tree(values: dict[str, Any]) -> bytes:
    return b"".join(_value(name, value) for name, value in values.items())


def _value(name: str, value: Any) -> bytes:
    kinds = {bool: BOOL, int: UINT32, float: DOUBLE, str: STRING, dict: LEVEL}
    head = struct.pack("BB", kinds[type(value)], len(name) + 1) + f"{name}\0".encode("utf-16-le")
    if isinstance(value, dict):
        inside = _tree(value)
        length = len(head) + 12 + len(inside)
        return head + struct.pack("<IQ", len(value), length) + inside + bytes(8 * len(value))
    if isinstance(value, str):
        return head + f"{value}\0".encode("utf-16-le")
    return head + struct.pack({bool: "<B", int: "<I", float: "<d"}[type(value)], value)
