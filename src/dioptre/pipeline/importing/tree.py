"""The published set as folders. A capture is a piece."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path

from dioptre.errors import CaptureFileError, FileError
from dioptre.pipeline.importing.outcomes import (
    CaptureOutcome,
    Opened,
    Progress,
    chain,
    complete,
    each_capture,
)
from dioptre.pipeline.importing.published import (
    Inventory,
    begin_outcome,
    check_frame,
    check_index,
    frames_without,
    open_writer,
    read_labels,
    refuse_missing,
)
from dioptre.pipeline.settings import Import
from dioptre.resources import regular
from dioptre.stacks.decoding import quiet_readers
from dioptre.store.captures import CaptureWriter
from dioptre.store.labels import FrameSize, Labels
from dioptre.store.manifest import read_manifest
from dioptre.store.published.frames import HEADER_BYTES, FrameHeader, Sampling, decode_frame, read_header
from dioptre.store.published.layout import (
    CONFIDENCE_FOLDER,
    DEPTH_FOLDER,
    CaptureFiles,
    decode_confidence,
    decode_depth,
    list_captures,
)
from dioptre.store.published.writing import confidence_path, depth_path


def open_tree(source: Path, out: Path, settings: Import, executor: Executor | None, done: Progress) -> Opened:
    """Returns the writer of a tree's store, and the outcomes of its captures as they are imported."""
    captures = list_captures(source, settings.camera_names, settings.samplings)
    if settings.maps:
        captures = _with_maps(captures, Path(settings.maps))
    writer = open_writer(out, settings, _first_frame(source, captures, settings))
    single, clashes = _without_clashes(captures, settings)
    pieces = [partial(_import, writer, settings, files) for files in single]
    return writer, chain(clashes, each_capture(pieces, executor, done))


def _with_maps(captures: Sequence[CaptureFiles], maps: Path) -> list[CaptureFiles]:
    """Returns the captures with the maps of a reconstruction; one that it left out has none."""
    read_manifest(maps, "a reconstruction")
    found = []
    for one in captures:
        part = maps / one.part
        paths = {
            DEPTH_FOLDER: depth_path(part, one.capture, one.camera),
            CONFIDENCE_FOLDER: confidence_path(part, one.capture, one.camera),
        }
        there = tuple((folder, path) for folder, path in paths.items() if path.is_file())
        found.append(replace(one, maps=there))
    return found


def _first_frame(source: Path, captures: Sequence[CaptureFiles], settings: Import) -> FrameSize:
    """Returns the size of the first frame that can be read."""
    for capture in captures:
        for _, _, path, sampling in capture.frames:
            try:
                return _header(path, sampling).frame
            except CaptureFileError:
                continue
    raise FileError(
        f"{source} holds no readable {' or '.join(settings.samplings)} frame of the camera "
        f"{' or '.join(settings.camera_names)}"
    )


def _without_clashes(
    captures: Sequence[CaptureFiles], settings: Import
) -> tuple[list[CaptureFiles], list[CaptureOutcome]]:
    """Returns the captures that can be taken, and the outcomes of the others."""
    inventory = Inventory()
    single, clashes = [], []
    for capture in captures:
        outcome = begin_outcome(capture, settings)
        clash = inventory.clash(outcome, capture.part)
        if clash:
            clashes.append(replace(outcome, fault=clash))
        else:
            single.append(capture)
    return single, clashes


def _import(writer: CaptureWriter, settings: Import, files: CaptureFiles) -> CaptureOutcome:
    """Returns the outcome of one capture. Labels come first: they cost little, and may leave nothing."""
    outcome = begin_outcome(files, settings)
    try:
        with quiet_readers():
            labels = _labels(files, settings, writer.frame)
            outcome = replace(outcome, eight_bit=_check_frames(files, writer.frame))
            if len(labels.trusted(settings.confidence)) and not writer.is_complete(files.name):
                _write_frames(writer, settings, files)
    except CaptureFileError as error:
        return replace(outcome, fault=f"{files.name}: {error}")
    return complete(writer, settings, outcome, labels, files.camera)


def _labels(files: CaptureFiles, settings: Import, frame: FrameSize) -> Labels:
    maps = dict(files.maps)
    for folder in (DEPTH_FOLDER, CONFIDENCE_FOLDER):
        if folder not in maps:
            raise CaptureFileError(f"it has no file in {folder}")
    depth, confidence = maps[DEPTH_FOLDER], maps[CONFIDENCE_FOLDER]
    return read_labels(
        decode_depth(_read(depth), str(depth)),
        decode_confidence(_read(confidence), str(confidence)),
        settings,
        frame,
    )


def _check_frames(files: CaptureFiles, frame: FrameSize) -> int:
    """Returns the number of 8-bit frames, after checking that all are there and of the right size."""
    there = {(index, view) for index, view, _, _ in files.frames}
    refuse_missing(frames_without(there))
    check_index(max(index for index, _ in there))
    headers = [(path, _header(path, sampling)) for _, _, path, sampling in files.frames]
    for path, header in headers:
        check_frame(header.frame, frame, str(path))
    return sum(header.bits == 8 for _, header in headers)


def _write_frames(writer: CaptureWriter, settings: Import, files: CaptureFiles) -> None:
    for index, view, path, sampling in files.frames:
        if not writer.has_frame(files.name, index, view):
            codes = decode_frame(_read(path), str(path), sampling, settings.rotate)
            writer.write_frame(files.name, index, view, codes)


def _header(path: Path, sampling: Sampling) -> FrameHeader:
    return read_header(_read(path, HEADER_BYTES), str(path), sampling)


def _read(path: Path, count: int = -1) -> bytes:
    """Returns a file's bytes; that it cannot be read is the capture's fault, not the store's."""
    try:
        with regular(path).open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise CaptureFileError(f"{path} cannot be read: {error.strerror or error}") from None
