"""People's own captures: a folder and a capture.toml each, and a piece of work each.

The first that can be read decides the format.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dioptre.errors import DioptreError, FileError
from dioptre.pipeline.importing.outcomes import (
    CaptureOutcome,
    Opened,
    Progress,
    chain,
    complete,
    each_capture,
)
from dioptre.pipeline.settings import Import
from dioptre.stacks.decoding import quiet_readers
from dioptre.store.captures import CaptureWriter
from dioptre.store.format import StoreFormat
from dioptre.store.labels import SIZE, STRIDE, FrameSize, patch_corners
from dioptre.store.own_captures import Codes, OwnCapture, capture_format, list_folders, own_labels, read_codes


def open_folders(
    source: Path, out: Path, settings: Import, executor: Executor | None, done: Progress
) -> Opened:
    """Returns the writer of the captures' store, and their outcomes as they are imported."""
    captures, faults = _read_all(list_folders(source))
    _check_splits(captures)
    form, frame = _first_format(source, captures, faults)
    config = {"source": "captures", "stride": STRIDE, "confidence": settings.confidence}
    writer = CaptureWriter(out, form, frame, config)
    writer.begin()
    pieces = [partial(_import, writer, settings, capture) for capture in captures]
    return writer, chain(faults, each_capture(pieces, executor, done))


def _read_all(files: Sequence[Path]) -> tuple[list[OwnCapture], list[CaptureOutcome]]:
    """Returns the captures whose capture.toml is right, and the outcomes of the others."""
    captures, faults = [], []
    for file in files:
        try:
            captures.append(OwnCapture.from_toml(file))
        except DioptreError as error:
            faults.append(CaptureOutcome(file.parent.name, fault=str(error)))
    return captures, faults


def _check_splits(captures: Sequence[OwnCapture]) -> None:
    """Raises if captures of one scene are in different splits."""
    first: dict[str, OwnCapture] = {}
    for capture in captures:
        other = first.setdefault(capture.scene, capture)
        if other.split != capture.split:
            raise FileError(
                f"the scene {capture.scene} is in {other.split} ({other.name}) and in {capture.split} "
                f"({capture.name}): all captures of a scene are in one split"
            )


def _first_format(
    source: Path, captures: Sequence[OwnCapture], faults: Sequence[CaptureOutcome]
) -> tuple[StoreFormat, FrameSize]:
    """Returns the format and the frame of the first capture that can be read."""
    reasons = [outcome.fault for outcome in faults]
    for capture in captures:
        try:
            return _format(capture, *read_codes(capture))
        except DioptreError as error:
            reasons.append(f"{capture.name}: {error}")
    raise FileError(f"nothing was imported from {source}: {reasons[0]}")


def _format(capture: OwnCapture, codes: Codes, white: float) -> tuple[StoreFormat, FrameSize]:
    frame = codes.shape[2], codes.shape[3]
    patch_corners(frame, SIZE)  # raises if no patch fits in
    return capture_format(capture, codes, white, SIZE), frame


def _import(writer: CaptureWriter, settings: Import, capture: OwnCapture) -> CaptureOutcome:
    """Returns the outcome of one capture."""
    outcome = CaptureOutcome(capture.name, capture.scene, capture.split)
    try:
        with quiet_readers():
            labels = own_labels(capture, writer.frame, SIZE, STRIDE)
            codes = None if writer.is_complete(capture.name) else _fitting_codes(writer, capture)
    except DioptreError as error:
        return replace(outcome, fault=f"{capture.name}: {error}")
    if codes is not None and len(labels.trusted(settings.confidence)):
        for index, view in writer.missing_frames(capture.name):
            writer.write_frame(capture.name, index, view, np.ascontiguousarray(codes[index, view]))
    return complete(writer, settings, outcome, labels, capture.camera.name, capture.light)


def _fitting_codes(writer: CaptureWriter, capture: OwnCapture) -> Codes:
    """Returns the codes of a capture, if they fit the store."""
    codes, white = read_codes(capture)
    form, frame = _format(capture, codes, white)
    found = form.to_json() | {"frame": frame}
    expected = writer.format.to_json() | {"frame": writer.frame}
    for key, value in found.items():
        if value != expected[key]:
            raise FileError(
                f"its {key} is not that of the store's first capture: {value}, not {expected[key]}"
            )
    return codes
