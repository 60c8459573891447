"""The published set as the archives it comes in. They are read once, from beginning to end, and not unpacked.

An archive holds its captures' files in any order, typically all left frames of all captures before the right
ones. Frames are decoded by threads and written as they come; the small maps wait in memory for the archive's
end, when every capture of it must be complete. No capture is in two archives: which is the first of two that
hold it is known only to who reads them one after the other. So there are no independent pieces here to send
to other processes or machines: one process reads, and its threads decode.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from dioptre.errors import ArchiveError, CaptureFileError, FileError
from dioptre.pipeline.importing.outcomes import (
    CaptureOutcome,
    Opened,
    Outcomes,
    Progress,
    complete,
    stop_or_go_on,
)
from dioptre.pipeline.importing.published import (
    Inventory,
    begin_outcome,
    check_frame,
    check_index,
    open_writer,
    read_labels,
    refuse_missing,
)
from dioptre.pipeline.settings import Import
from dioptre.store.captures import CaptureWriter
from dioptre.store.labels import FrameSize
from dioptre.store.published.archives import ReadSome, list_archives, read_archive
from dioptre.store.published.frames import HEADER_BYTES, NativeFrame, decode_frame, read_header
from dioptre.store.published.layout import (
    CONFIDENCE_FOLDER,
    DEPTH_FOLDER,
    PublishedFile,
    decode_confidence,
    decode_depth,
)

AHEAD = 2  # frames a thread that wait to be decoded or written: bounds the memory


def open_archives(source: Path, out: Path, settings: Import, threads: int, done: Progress) -> Opened:
    """Returns the writer of the archives' store, and the outcomes of their captures as they are imported."""
    archives = list_archives(source)
    writer = open_writer(out, settings, _first_frame(archives, settings))
    return writer, _import_all(writer, settings, archives, max(threads, 1), done)


def _first_frame(archives: Sequence[Path], settings: Import) -> FrameSize:
    """Returns the size of the first frame that can be read."""

    def wanted(item: PublishedFile) -> bool:
        return item.index is not None and _is_wanted(item, settings)

    fault = ""
    for archive in archives:
        try:
            with closing(read_archive(archive, wanted, lambda _: None)) as frames:
                for item, name, read in frames:
                    return read_header(read(HEADER_BYTES), name, item.sampling).frame
        except (ArchiveError, CaptureFileError) as error:
            fault = fault or f": {error}"
    raise FileError(
        f"{', '.join(map(str, archives))}: no readable {' or '.join(settings.samplings)} frame of the camera "
        f"{' or '.join(settings.camera_names)}{fault}"
    )


def _is_wanted(item: PublishedFile, settings: Import) -> bool:
    return item.camera in settings.camera_names and (
        item.index is None or item.sampling in settings.samplings
    )


def _import_all(
    writer: CaptureWriter, settings: Import, archives: Sequence[Path], threads: int, done: Progress
) -> Outcomes:
    begins = [0, *accumulate(archive.stat().st_size for archive in archives)]
    inventory = Inventory()
    for archive, begin in zip(archives, begins, strict=False):

        def moved(position: int, begin: int = begin) -> None:
            done(begin + position, begins[-1])

        with ThreadPoolExecutor(threads) as pool:
            stream = _Stream(writer, settings, archive, inventory, pool, AHEAD * threads)
            fault = stream.take_all(moved)
        if fault:
            yield CaptureOutcome(archive.name, fault=fault)
        yield from stream.clashes.values()
        for arriving in stream.arriving.values():
            yield _completed(writer, settings, arriving)


@dataclass(eq=False)
class _Arriving:
    """What has come out of an archive of one capture so far.

    Attributes:
        outcome: Of the capture, as far as it is known; its fault is the first one found.
        camera: Which camera.
        depth: Its depth codes.
        confidence: Its confidence.
        seen: Frames, (slice, view), that have come in one sampling or the other.
    """

    outcome: CaptureOutcome
    camera: str
    depth: UInt8[np.ndarray, "_ _"] | None = None
    confidence: Float[np.ndarray, "_ _"] | None = None
    seen: set[tuple[int, int]] = field(default_factory=set)


@dataclass(eq=False)
class _Stream:
    """An archive that is being read.

    Attributes:
        writer: Of the store.
        settings: How to import.
        archive: The file.
        inventory: What this archive and those before it hold.
        pool: Decodes frames.
        ahead: How many frames may wait.
        arriving: The captures that are taken from it.
        clashes: Outcomes of captures that are not taken from it.
        decoding: Frames that are being decoded, in the order in which they came.
    """

    writer: CaptureWriter
    settings: Import
    archive: Path
    inventory: Inventory
    pool: ThreadPoolExecutor
    ahead: int
    arriving: dict[str, _Arriving] = field(default_factory=dict)
    clashes: dict[str, CaptureOutcome] = field(default_factory=dict)
    decoding: deque[tuple[PublishedFile, Future[NativeFrame]]] = field(default_factory=deque)

    def take_all(self, moved: Callable[[int], None]) -> str:
        """Takes in all that the archive holds; returns what is wrong with it as a whole, or nothing."""
        fault = ""
        try:
            with closing(read_archive(self.archive, self._wants, moved)) as files:
                for item, name, read in files:
                    self._take(item, name, read)
                    self._write_decoded(self.ahead)
        except ArchiveError as error:
            fault = str(error)
        self._write_decoded(0)
        return fault

    def _wants(self, item: PublishedFile) -> bool:
        if not _is_wanted(item, self.settings) or item.name in self.clashes:
            return False
        outcome = begin_outcome(item, self.settings)
        clash = self.inventory.clash(outcome, self.archive.name)
        if clash:
            self.clashes[item.name] = replace(outcome, fault=clash)
            return False
        arriving = self.arriving.setdefault(item.name, _Arriving(outcome, item.camera))
        return not arriving.outcome.fault

    def _take(self, item: PublishedFile, name: str, read: ReadSome) -> None:
        """Takes in one file."""
        arriving = self.arriving[item.name]
        try:
            if item.folder == DEPTH_FOLDER:
                arriving.depth = decode_depth(read(), name)
            elif item.folder == CONFIDENCE_FOLDER:
                arriving.confidence = decode_confidence(read(), name)
            else:
                self._take_frame(arriving, item, name, read)
        except CaptureFileError as error:
            self._blame(arriving, error)

    def _take_frame(self, arriving: _Arriving, item: PublishedFile, name: str, read: ReadSome) -> None:
        """Begins to decode a frame, unless it has come in the other sampling or is in the store already."""
        assert item.index is not None  # it is a frame
        check_index(item.index)
        key = item.index, item.view
        if key in arriving.seen:
            return
        arriving.seen.add(key)
        begins = read(HEADER_BYTES)
        header = read_header(begins, name, item.sampling)
        check_frame(header.frame, self.writer.frame, name)
        outcome = arriving.outcome
        arriving.outcome = replace(outcome, eight_bit=outcome.eight_bit + (header.bits == 8))
        if not self.writer.has_frame(item.name, *key):
            data = begins + read()
            decoded = self.pool.submit(decode_frame, data, name, item.sampling, self.settings.rotate)
            self.decoding.append((item, decoded))

    def _write_decoded(self, leave: int) -> None:
        """Writes frames in the order in which they came, until only so many are left."""
        while len(self.decoding) > leave:
            item, decoded = self.decoding.popleft()
            assert item.index is not None  # it is a frame
            try:
                codes = decoded.result()
            except CaptureFileError as error:
                self._blame(self.arriving[item.name], error)
                continue
            self.writer.write_frame(item.name, item.index, item.view, codes)

    def _blame(self, arriving: _Arriving, error: CaptureFileError) -> None:
        """Records a capture's first fault, which stops the import if it shall."""
        outcome = arriving.outcome
        arriving.outcome = replace(outcome, fault=outcome.fault or f"{outcome.name}: {error}")
        stop_or_go_on(arriving.outcome.fault, self.settings)


def _completed(writer: CaptureWriter, settings: Import, arriving: _Arriving) -> CaptureOutcome:
    """Returns the outcome of a capture, after all that its archive holds of it has come."""
    outcome = arriving.outcome
    if outcome.fault:
        return outcome
    try:
        refuse_missing(writer.missing_frames(outcome.name))
        if arriving.depth is None or arriving.confidence is None:
            missing = DEPTH_FOLDER if arriving.depth is None else CONFIDENCE_FOLDER
            raise CaptureFileError(f"it has no file in {missing}")
        labels = read_labels(arriving.depth, arriving.confidence, settings, writer.frame)
    except CaptureFileError as error:
        return replace(outcome, fault=f"{outcome.name}: {error}")
    return complete(writer, settings, outcome, labels, arriving.camera)
