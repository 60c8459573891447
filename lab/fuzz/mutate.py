"""Changes of files that know their structure. All take a generator and give bytes.

Each function returns the changed bytes, or raises Unfit if there is nothing of its kind to change.
"""

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]

NUMBERS = (0, 1, -1, 2, 127, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63, 10**30)
ODD: tuple[Any, ...] = (
    None, True, False, "", "x", "a\nb", "../../etc/passwd", "\0", "é" * 300, [], {}, [None], [[[]]],
    {"a": {}},     0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), *NUMBERS,
)  # fmt: skip


class UnfitError(Exception):
    """There is nothing to change in this way."""


def pick(rng: Rng, items: Any) -> Any:
    """Returns one of some items."""
    items = list(items)
    if not items:
        raise UnfitError
    return items[int(rng.integers(len(items)))]


# Any file


def flip_bits(data: bytes, rng: Rng) -> bytes:
    """Flips a few bits."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        if changed:
            changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flip_head(data: bytes, rng: Rng) -> bytes:
    """Changes bytes at the beginning, where headers are."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        if changed:
            changed[int(rng.integers(min(len(changed), 200)))] = int(rng.integers(256))
    return bytes(changed)


def cut(data: bytes, rng: Rng) -> bytes:
    """Cuts the end off."""
    return data[: int(rng.integers(len(data) + 1))]


def put_number(data: bytes, rng: Rng) -> bytes:
    """Puts a number where a length or an offset might be."""
    if len(data) < 8:
        raise UnfitError
    form = pick(rng, ("<H", ">H", "<I", ">I", "<Q", ">Q"))
    size = struct.calcsize(form)
    number = int(pick(rng, NUMBERS)) % (1 << 8 * size)
    at = int(rng.integers(min(len(data), 4096) - size + 1))
    return data[:at] + struct.pack(form, number) + data[at + size :]


def repeat(data: bytes, rng: Rng) -> bytes:
    """Says a part twice, or many times."""
    begin, end = sorted(int(rng.integers(len(data) + 1)) for _ in range(2))
    return data[:end] + data[begin:end] * int(rng.integers(1, 20)) + data[end:]


def leave_out(data: bytes, rng: Rng) -> bytes:
    """Leaves a part out."""
    begin, end = sorted(int(rng.integers(len(data) + 1)) for _ in range(2))
    return data[:begin] + data[end:]


def something_else(_data: bytes, rng: Rng) -> bytes:
    """Returns nothing, noise, text, a zip, a pickle, zeros."""
    return pick(
        rng,
        (b"", b"\n", b"PK\x03\x04" + rng.bytes(60), rng.bytes(500), b"hello\n", bytes(5000), b"[" * 3000,
         b"\x80\x04cposix\nsystem\n", b"\x89PNG\r\n\x1a\n", b"\x93NUMPY\x01\x00", b"\xff\xd8\xff"),
    )  # fmt: skip


GENERIC: tuple[Mutation, ...] = (
    flip_bits, flip_head, cut, put_number, put_number, repeat, leave_out, something_else,
)  # fmt: skip


# JSON


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the ways to all values in a JSON value."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        found += places(one, (*path, key))
    return found


def change_json(data: bytes, rng: Rng) -> bytes:
    """Changes, leaves out or nests an entry."""
    try:
        value = json.loads(data)
    except ValueError:
        raise UnfitError from None
    for _ in range(int(rng.integers(1, 3))):
        way = pick(rng, places(value))
        within = value
        for key in way[:-1]:
            within = within[key]
        kind = int(rng.integers(5))
        if kind == 0:
            del within[way[-1]]
        elif kind == 1:
            for _ in range(int(pick(rng, (1, 3, 60, 300)))):
                within[way[-1]] = [within[way[-1]]]
        elif kind == 2 and isinstance(within, dict):
            within[str(pick(rng, ODD))] = pick(rng, ODD)
        else:
            within[way[-1]] = pick(rng, ODD)
    return json.dumps(value).encode()


# Text


def change_text(data: bytes, rng: Rng) -> bytes:
    """Puts something odd in the place of a number, a word or a line of a table."""
    text = data.decode("utf-8", "replace")
    found = list(re.finditer(r'-?[0-9.]+(?:e-?[0-9]+)?|"[^"\n]*"|[A-Za-z_]+|\n', text))
    chosen = pick(rng, found)
    odd = pick(rng, ("", "nan", "inf", "-inf", "1e400", "-1", "0", "true", '""', "[]", "[[1, 2], 3]", "\n",
                     "x", "9" * 5000, "\0", "é", "{}", "'", '"""', ",", "=", "2147483648", "#"))  # fmt: skip
    return (text[: chosen.start()] + odd + text[chosen.end() :]).encode()


# NumPy


def change_npy(data: bytes, rng: Rng) -> bytes:
    """Gives an .npy another head."""
    if not data.startswith(b"\x93NUMPY"):
        raise UnfitError
    length = struct.unpack_from("<H", data, 8)[0]
    shape = tuple(int(pick(rng, (*NUMBERS[:12], 3, 5))) for _ in range(int(rng.integers(6))))
    descr = pick(
        rng, ("<u2", "|u1", "<f4", "<f8", "|O", "<U5", "|b1", "<c16", "<M8[s]", "|S3", "<i8", "x", ">f2")
    )
    head = f"{{'descr': '{descr}', 'fortran_order': {pick(rng, (True, False))}, 'shape': {shape!r}, }}"
    head = pick(rng, (head, head, head, head[: len(head) // 2], "{" * 200, "__import__('os').abort()"))
    padded = head.encode().ljust(length - 1)[:60000] + b"\n"
    version = pick(rng, (b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x09\x00"))
    return b"\x93NUMPY" + version + struct.pack("<H", len(padded)) + padded + data[10 + length :]


def change_npz(data: bytes, rng: Rng) -> bytes:
    """Changes a member of an .npz, or packs what is not one."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = {name: old.read(name) for name in old.namelist()}
    except (zipfile.BadZipFile, ValueError):
        raise UnfitError from None
    name = pick(rng, members)
    change = pick(rng, (change_npy, *GENERIC))
    members[name] = change(members[name], rng)
    if rng.random() < 0.3:
        members[str(pick(rng, ("stack.npy", "../x.npy", "", "a", "b.npy")))] = members[name]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for one, content in members.items():
            new.writestr(one or "x", content)
    return file.getvalue()


# PNG


def change_png(data: bytes, rng: Rng) -> bytes:
    """Changes chunks of a PNG, with checksums that hold."""
    if not data.startswith(b"\x89PNG"):
        raise UnfitError
    chunks, at = [], 8
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        chunks.append((kind, data[at + 8 : at + 8 + length]))
        at += 12 + length
    which = int(rng.integers(len(chunks)))
    kind, content = chunks[which]
    if kind == b"IHDR" and rng.random() < 0.7:
        cols, rows = (int(pick(rng, (1, 16, 30000, 65536, 2**31 - 1, 0))) for _ in range(2))
        bits, colour = int(pick(rng, (1, 2, 4, 8, 16, 3))), int(pick(rng, (0, 2, 3, 4, 6, 1)))
        content = struct.pack(">IIBB", cols, rows, bits, colour) + content[10:]
    elif kind == b"IDAT" and rng.random() < 0.5:
        content = zlib.compress(flip_bits(zlib.decompress(content), rng) * int(pick(rng, (1, 1, 100))))
    else:
        content = pick(rng, GENERIC)(content, rng)
    chunks[which] = (pick(rng, (kind, kind, kind, b"tRNS", b"acTL", b"sBIT")), content)
    return data[:8] + b"".join(
        struct.pack(">I", len(one)) + name + one + struct.pack(">I", zlib.crc32(name + one))
        for name, one in chunks
    )


# Parquet


def change_parquet(data: bytes, rng: Rng) -> bytes:
    """Leaves out a column of a table, changes its values or its type, or leaves out rows."""
    try:
        table = pq.read_table(io.BytesIO(data), use_threads=False)
    except Exception:
        raise UnfitError from None
    if not table.num_columns:
        raise UnfitError
    at = int(rng.integers(table.num_columns))
    name, count = table.column_names[at], len(table)
    kind = int(rng.integers(5))
    if kind == 0:
        table = table.drop_columns([name])
    elif kind == 1:
        table = table.slice(0, int(rng.integers(count + 1)))
    elif kind == 2:
        table = table.rename_columns([f"{one}x" if one == name else one for one in table.column_names])
    else:
        odd = pick(
            rng, (None, "", "x" * 1000, -1, 10**6, 2**62, float("nan"), float("inf"), True, [1, 2], {"a": 1})
        )
        table = table.set_column(at, name, pa.array([odd] * count))
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


# Networks


def change_onnx(data: bytes, rng: Rng) -> bytes:
    """Changes the card of a network, or its inputs, types, shapes and operators."""
    import onnx  # noqa: PLC0415  # an extra

    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:
        raise UnfitError from None
    kind = int(rng.integers(6))
    if kind <= 2 and model.metadata_props:
        one = pick(rng, model.metadata_props)
        one.value = pick(rng, (change_json, change_json, cut))(one.value.encode(), rng).decode(
            "utf-8", "replace"
        )
    elif kind == 3:
        value = pick(rng, (*model.graph.input, *model.graph.output))
        value.type.tensor_type.elem_type = int(pick(rng, (1, 6, 7, 8, 9, 10, 11)))
    elif kind == 4:
        value = pick(rng, (*model.graph.input, *model.graph.output))
        if value.type.tensor_type.shape.dim:
            pick(rng, value.type.tensor_type.shape.dim).dim_value = int(pick(rng, (0, 1, 3, 7, 4096)))
    else:
        node = pick(rng, model.graph.node)
        node.op_type = pick(rng, ("Relu", "Softmax", "Exp", "Log", "Shape", "Loop", "NoSuch", "Transpose"))
    return model.SerializeToString()


def change_weights(data: bytes, rng: Rng) -> bytes:
    """Changes the keys or the values of saved weights."""
    import torch  # noqa: PLC0415  # an extra

    try:
        state: Any = torch.load(io.BytesIO(data), weights_only=True)
    except Exception:
        raise UnfitError from None
    kind, key = int(rng.integers(5)), pick(rng, state)
    if kind == 0:
        del state[key]
    elif kind == 1:
        state[pick(rng, ("x", 3, key))] = pick(rng, (None, 1, "x", torch.zeros(2), torch.zeros(3, 3), []))
    elif kind == 2:
        state = pick(rng, (None, 1, [], {}, list(state), torch.zeros(3), {"network": state}))
    else:
        state[key] = pick(rng, (torch.full((2, 2), float("nan")), torch.zeros(0), "x", {"a": 1}))
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


BY_SUFFIX: dict[str, tuple[Mutation, ...]] = {
    ".json": (change_json,),
    ".toml": (change_text,),
    ".csv": (change_text,),
    ".txt": (change_text,),
    ".npy": (change_npy,),
    ".npz": (change_npz,),
    ".png": (change_png,),
    ".pgm": (change_text,),
    ".parquet": (change_parquet,),
    ".onnx": (change_onnx,),
    ".pt": (change_weights,),
}


def mutate(name: str, data: bytes, rng: Rng) -> tuple[bytes, str]:
    """Returns a file's bytes changed once or a few times, and how."""
    file = Path(name)
    known = BY_SUFFIX.get(file.suffix or (".json" if file.name.startswith(".z") else ""), ())
    done: list[str] = []
    for _ in range(int(pick(rng, (1, 1, 1, 2, 3)))):
        change = pick(rng, known) if known and rng.random() < 0.6 else pick(rng, GENERIC)
        try:
            data = change(data, rng)
        except Exception:  # what was changed before is no longer of its kind
            data, change = flip_bits(data, rng), flip_bits
        done.append(change.__name__)
    return data, "+".join(done)
