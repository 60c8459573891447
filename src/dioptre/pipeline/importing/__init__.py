"""A store of labelled patches from captures on disk: the published data set, or people's own.

outcomes   what became of each capture
published  what trees and archives of the published set share
tree       the published set as folders
archives   the published set as the archives it comes in, streamed
own        people's own captures

Every capture has one outcome: imported, or left out for a reason. A fault in a file concerns its capture
only. A failure to write (a full disk) always stops; what is written by then can be resumed.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dioptre.errors import FileError, InputError
from dioptre.pipeline.importing.archives import open_archives
from dioptre.pipeline.importing.outcomes import CaptureOutcome, Opened, Progress, stop_or_go_on
from dioptre.pipeline.importing.own import open_folders
from dioptre.pipeline.importing.published import PUBLISHED
from dioptre.pipeline.importing.tree import open_tree
from dioptre.pipeline.settings import Import
from dioptre.stacks.decoding import quiet_readers
from dioptre.store.format import StoreFormat
from dioptre.store.lock import locked
from dioptre.store.own_captures import list_folders
from dioptre.store.published.archives import list_archives
from dioptre.store.published.layout import PAPER_KEPT, Validation, is_tree
from dioptre.store.table import SPLITS

__all__ = ["CaptureOutcome", "import_captures", "summarise"]


def import_captures(
    source: Path, out: Path, settings: Import, executor: Executor | None, done: Progress, threads: int = 1
) -> dict[str, Any]:
    """Writes a store of the labelled patches of all captures of a source, and returns its summary.

    A run that was stopped goes on where it was.

    Args:
        source: A tree or archives of the published set, or a folder of own captures.
        out: Folder of the store.
        settings: How.
        executor: Who imports captures, a capture each; None for this process. The result does not depend on
            it. Archives can be read but from beginning to end, which this process does in any case.
        done: Called with how much is done and how much there is: captures, or bytes of archives.
        threads: How many frames of an archive are decoded at the same time.

    Raises:
        FileError: If there is nothing to import, or nothing is left, or with on_error "stop" at the first
            fault.
        OSError: If the store cannot be written.
    """
    settings.check()
    with locked(out):
        return _import(source, out, settings, executor, done, threads)


def _import(
    source: Path, out: Path, settings: Import, executor: Executor | None, done: Progress, threads: int
) -> dict[str, Any]:
    """Imports into a folder that nobody else writes."""
    with quiet_readers(), _naming(out):
        writer, outcomes = _open(source, out, settings, executor, done, threads)
        with closing(outcomes):
            collected = _collect(outcomes, settings)
    if not any(outcome.kept for outcome in collected):
        raise FileError(f"nothing was imported from {source}: {_why_nothing(collected, settings)}")
    imported = {outcome.name for outcome in collected if not outcome.fault}
    earlier = [name for name in writer.complete_captures() if name not in imported]
    summary = summarise(collected, earlier, settings, writer.format, writer.config["source"] == PUBLISHED)
    with _naming(out):
        writer.finish(summary)
    return summary


@contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Lets an error of writing name the store: that of a full disk names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(out)
        raise


def _open(
    source: Path, out: Path, settings: Import, executor: Executor | None, done: Progress, threads: int
) -> Opened:
    if settings.maps and not is_tree(source):
        raise InputError(
            f"--maps is for captures in the published layout, unpacked, which {source} does not hold"
        )
    if list_folders(source):
        return open_folders(source, out, settings, executor, done)
    if is_tree(source):
        return open_tree(source, out, settings, executor, done)
    if list_archives(source):
        return open_archives(source, out, settings, threads, done)
    if not source.exists():
        raise FileError(f"there is no file or folder {source}")
    raise FileError(
        f"{source} is neither the published data set (train1/raw_left_pd/..., or train1.tar.gz) "
        "nor a folder of captures with a capture.toml each"
    )


def _collect(outcomes: Iterable[CaptureOutcome], settings: Import) -> list[CaptureOutcome]:
    collected = []
    for outcome in outcomes:
        stop_or_go_on(outcome.fault, settings)
        collected.append(outcome)
    return collected


def _why_nothing(outcomes: Sequence[CaptureOutcome], settings: Import) -> str:
    faults = [outcome.fault for outcome in outcomes if outcome.fault]
    if faults:
        return f"{faults[0]}{f' (and {len(faults) - 1} more)' if len(faults) > 1 else ''}"
    return f"no patch has a median confidence of {settings.confidence:g}"


def summarise(
    outcomes: Sequence[CaptureOutcome],
    earlier: Sequence[str],
    settings: Import,
    form: StoreFormat,
    published: bool,
) -> dict[str, Any]:
    """Returns the summary of an import for its manifest, as plain JSON.

    Args:
        outcomes: Of all captures of the source.
        earlier: Captures that the store has besides, from a source that was there when the import began.
        settings: How they were imported.
        form: Of the store.
        published: Whether they are of the published set, so that the paper tells how much should be kept.
    """
    good = sorted((one for one in outcomes if not one.fault), key=lambda one: one.name)
    splits = {split: [one for one in good if one.split == split] for split in SPLITS}
    expected = PAPER_KEPT if published else {}
    return {
        "splits": {
            split: _split_summary(some, expected.get(split)) for split, some in splits.items() if some
        },
        "skipped": [{"name": one.name, "reason": one.fault} for one in outcomes if one.fault],
        "without_patches": [one.name for one in good if not one.kept],
        "earlier": list(earlier),
        "black": form.black,
        "white": form.white,
        "min_depth_m": settings.min_depth if published else None,
        "max_depth_m": settings.max_depth if published else None,
        "confidence": settings.confidence,
        "eight_bit_files": sum(one.eight_bit for one in good),
        "warnings": _warnings(good, earlier, settings),
    }


def _split_summary(outcomes: Sequence[CaptureOutcome], paper: float | None) -> dict[str, Any]:
    patches, kept = sum(one.patches for one in outcomes), sum(one.kept for one in outcomes)
    return {
        "captures": len(outcomes),
        "patches": patches,
        "kept": kept,
        "fraction": kept / patches,
        "paper": paper,
    }


def _warnings(outcomes: Sequence[CaptureOutcome], earlier: Sequence[str], settings: Import) -> list[str]:
    warnings = []
    if earlier:
        warnings.append(
            f"the store also has what was imported before of {', '.join(earlier)}; this source does not give "
            "it, and it is not counted here"
        )
    eight_bit = sum(outcome.eight_bit for outcome in outcomes)
    if eight_bit:
        warnings.append(
            f"{eight_bit} frames have 8 bits, not 16: somebody has converted them, and most of their "
            "gradation is lost"
        )
    scenes = {outcome.scene for outcome in outcomes}
    missing = [name for name in Validation.parse(settings.validation).scenes if name not in scenes]
    if missing:
        warnings.append(f"there is no scene {', '.join(missing)} to keep for validation")
    return warnings
