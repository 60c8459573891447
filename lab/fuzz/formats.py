"""Small good files of the kinds that come from phones, films and microscopes, and what reads them.

Zarr and compressed .czi are written by their own libraries, raw files by tifffile, films by OpenCV. Nobody
writes .nd2 but its maker: it is put together here, of the parts that its reader asks for, as a plain .czi is.
"""

import struct
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import tifffile

from lab.fuzz.seed import Seed, bytes_of, codes_of, make_seed, read_and_sum, read_named

RAW_TAGS = [
    (33421, "H", 2, (2, 2), True),
    (33422, "B", 4, (0, 1, 1, 2), True),
    (50706, "B", 4, (1, 4, 0, 0), True),
    (50708, "s", 0, "Test", True),
    (50714, "H", 1, 512, True),
    (50717, "H", 1, 16383, True),
    (50721, "2i", 9, (1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1), True),
]  # of a DNG: the mosaic and what its codes mean
FOUR_CC = {"f.avi": "MJPG", "f.mp4": "mp4v", "f.mkv": "FFV1"}


def make_format_seeds(root: Path) -> Iterator[Seed]:
    """Yields seeds of all kinds whose readers are there."""
    yield from _films(root)
    yield from _phones(root)
    if find_spec("rawpy"):
        content = bytes_of(
            lambda file: tifffile.imwrite(
                file, codes_of(48, 64) >> 2, photometric=32803, metadata=None, extratags=RAW_TAGS
            )
        )
        yield make_seed(root, "raw", {f"{at}.dng": content for at in range(2)}, read_and_sum)
    if find_spec("zarr"):
        yield from _zarrs(root)
    small = codes_of(4, 16, 20)
    for name, content in (("nd2", make_nd2(small)), ("czi", make_czi(small))):
        if find_spec({"nd2": "nd2", "czi": "pylibCZIrw"}[name]):
            file = f"a.{name}"
            yield make_seed(root, name, {file: content}, partial(read_named, read_and_sum, file))
    if find_spec("pylibCZIrw"):
        yield from _zeiss(root)
    palette = np.linspace(0, 65535, 3 * 256).astype(np.uint16).reshape(3, 256)
    pages = (codes_of(3, 16, 20) >> 8).astype(np.uint8)
    content = bytes_of(lambda file: tifffile.imwrite(file, pages, photometric="palette", colormap=palette))
    yield make_seed(root, "palette", {"s.tif": content}, partial(read_named, read_and_sum, "s.tif"))


def _zeiss(root: Path) -> Iterator[Seed]:
    """Yields files of Zeiss' own library: of 8 and 16 bits, in colour, compressed, a mosaic of two scenes."""
    library: Any = import_module("pylibCZIrw.czi")  # an extra
    for name, compression, shape in (("zstd", "zstd1:", (16, 20, 1)), ("colour", "zstd0:", (16, 20, 3))):
        folder = root / f"czi-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        with library.create_czi(str(folder / "a.czi"), compression_options=compression) as file:
            for scene, at, tile in np.ndindex(2, 2, 2):
                codes = (codes_of(*shape) >> 8).astype(np.uint8 if shape[2] == 3 else np.uint16)
                file.write(data=codes, plane={"Z": at}, scene=scene, location=(100 * scene + 20 * tile, 0))
            file.write_metadata("a", scale_z=5e-7)
        yield Seed(f"czi-{name}", folder, ("a.czi",), partial(read_named, read_and_sum, "a.czi"))


def _films(root: Path) -> Iterator[Seed]:
    root.mkdir(parents=True, exist_ok=True)
    for name, letters in FOUR_CC.items():
        film = cv2.VideoWriter(str(root / name), cv2.VideoWriter.fourcc(*letters), 10, (32, 24))
        for at in range(3):
            film.write((codes_of(24, 32, 3) >> 8).astype(np.uint8) // (at + 1))
        film.release()
        content = (root / name).read_bytes()
        yield make_seed(root, f"film-{name}", {name: content}, partial(read_named, read_and_sum, name))
    if find_spec("PIL"):
        from PIL import Image  # noqa: PLC0415  # an extra of an extra

        frames = [Image.fromarray((codes_of(16, 20) >> 8).astype(np.uint8) // (at + 1)) for at in range(3)]
        gif = bytes_of(lambda file: frames[0].save(file, "GIF", save_all=True, append_images=frames[1:]))
        yield make_seed(root, "film-gif", {"f.gif": gif}, partial(read_named, read_and_sum, "f.gif"))


def _phones(root: Path) -> Iterator[Seed]:
    picture = (codes_of(32, 48, 3) >> 8).astype(np.uint8)
    kinds = {".avif": cv2.imencode(".avif", picture)[1].tobytes()}
    if find_spec("pillow_heif"):
        import pillow_heif  # noqa: PLC0415  # an extra

        made = pillow_heif.from_bytes("RGB", (48, 32), picture.tobytes())
        kinds[".heic"] = bytes_of(lambda file: made.save(file, quality=50))
    for suffix, content in kinds.items():
        files = {f"{at}{suffix}": content for at in range(2)}
        yield make_seed(root, f"phone{suffix}", files, read_and_sum)


def _zarrs(root: Path) -> Iterator[Seed]:
    zarr: Any = import_module("zarr")  # an extra
    codes = codes_of(3, 16, 20)
    for form, plain in ((2, "zarr-plain-2"), (3, "zarr-plain-3")):
        path = root / plain / "a.zarr"
        zarr.create_array(str(path), data=codes, chunks=(1, 16, 20), zarr_format=form)
        files = (".zarray", "0.0.0") if form == 2 else ("zarr.json", "c/0/0/0")
        yield Seed(plain, path, files, read_and_sum, slow=True)
    path = root / "zarr-ome" / "a.zarr"
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    array = group.create_array("0", shape=(1, 1, 3, 16, 20), dtype="u2", chunks=(1, 1, 1, 16, 20))
    array[...] = codes[None, None]
    axes = [{"name": one, **({"unit": "micrometer"} if one in "zyx" else {})} for one in "tczyx"]
    scale = {"type": "scale", "scale": [1.0, 1.0, 0.3, 0.1, 0.1]}
    level = {"path": "0", "coordinateTransformations": [scale]}
    group.attrs["multiscales"] = [{"axes": axes, "datasets": [level], "version": "0.4"}]
    group.attrs["omero"] = {"channels": [{"label": "DAPI"}]}
    yield Seed("zarr-ome", path, (".zattrs", ".zgroup", "0/.zarray"), read_and_sum, slow=True)


# Nikon


def make_nd2(codes: np.ndarray) -> bytes:
    """Returns a .nd2 of some slices, 16 bits: chunks, and at the end where they are."""
    count, rows, cols = codes.shape
    content = bytearray(_chunk(b"ND2 FILE SIGNATURE CHUNK NAME01!", b"Ver3.0".ljust(64, b"\0")))
    chunks = {
        b"ImageAttributesLV!": _variant(
            "SLxImageAttributes",
            _numbers(
                uiWidth=cols,
                uiWidthBytes=2 * cols,
                uiHeight=rows,
                uiComp=1,
                uiBpcInMemory=16,
                uiBpcSignificant=16,
                uiSequenceCount=count,
                uiTileWidth=0,
                uiTileHeight=0,
                eCompression=2,
            ),
        ),
        b"ImageMetadataSeqLV|0!": _variant(
            "SLxPictureMetadata",
            '<dCalibration runtype="double" value="0.1"/><bCalibrated runtype="bool" value="true"/>'
            f"<sPicturePlanes>{_numbers(uiCount=1, uiSampleCount=1)}<sPlaneNew><a0>{_numbers(uiCompCount=1)}"
            '<sDescription runtype="CLxStringW" value="DAPI"/>'
            f"<pFluorescentProbe>{_numbers(uiColor=1)}</pFluorescentProbe></a0></sPlaneNew></sPicturePlanes>",
        ),
        b"ImageMetadataLV!": _variant(
            "SLxExperiment",
            f"{_numbers(eType=4)}<uLoopPars>{_numbers(uiCount=count)}"
            '<dZStep runtype="double" value="0.5"/></uLoopPars>',
        ),
    }
    places = {}
    for name, data in chunks.items():
        places[name] = len(content), len(data)
        content += _chunk(name, data)
    for at in range(count):
        name, data = f"ImageDataSeq|{at}!".encode(), codes[at].astype("<u2").tobytes()
        places[name] = len(content), len(data)
        content += _chunk(name.ljust(4080, b"\0"), data)
    table = b"".join(name + struct.pack("<QQ", *place) for name, place in places.items())
    table += b"ND2 CHUNK MAP SIGNATURE 0000001!" + struct.pack("<Q", len(content))
    return bytes(content + _chunk(b"ND2 FILEMAP SIGNATURE NAME 0001!", table))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack("<IIQ", 0x0ABECEDA, len(name), len(data)) + name + data


def _variant(name: str, inner: str) -> bytes:
    return f"<variant><{name}>{inner}</{name}></variant>".encode()


def _numbers(**values: int) -> str:
    return "".join(f'<{name} runtype="lx_uint32" value="{value}"/>' for name, value in values.items())


# Zeiss


def make_czi(codes: np.ndarray) -> bytes:
    """Returns a .czi of some slices, 16 bits: segments, and at the beginning where they are."""
    count, rows, cols = codes.shape
    content, entries = bytearray(_czi_head(0, 0)), []
    for at in range(count):
        entry = _czi_entry(len(content), [(b"X", 0, cols), (b"Y", 0, rows), (b"Z", at, 1)])
        entries.append(entry)
        body = (struct.pack("<iiq", 0, 0, codes[at].nbytes) + entry).ljust(16 + max(240, len(entry)), b"\0")
        content += _segment(b"ZISRAWSUBBLOCK", body + codes[at].astype("<u2").tobytes())
    directory = len(content)
    content += _segment(b"ZISRAWDIRECTORY", struct.pack("<i", count).ljust(128, b"\0") + b"".join(entries))
    metadata, xml = (
        len(content),
        b'<ImageDocument><Distance Id="Z"><Value>5e-07</Value></Distance></ImageDocument>',
    )
    content += _segment(b"ZISRAWMETADATA", struct.pack("<ii", len(xml), 0).ljust(256, b"\0") + xml)
    head = _czi_head(directory, metadata)
    return head + bytes(content[len(head) :])


def _segment(name: bytes, data: bytes) -> bytes:
    return struct.pack("<16sqq", name, len(data), len(data)) + data


def _czi_head(directory: int, metadata: int) -> bytes:
    places = struct.pack("<iiii16s16siqqiq", 1, 0, 0, 0, b"", b"", 0, directory, metadata, 0, 0)
    return _segment(b"ZISRAWFILE", places.ljust(512, b"\0"))


def _czi_entry(place: int, sizes: list[tuple[bytes, int, int]]) -> bytes:
    head = struct.pack("<2siqiiBB4si", b"DV", 1, place, 0, 0, 0, 0, b"", len(sizes))
    return head + b"".join(struct.pack("<4siifi", name, at, n, float(at), n) for name, at, n in sizes)
