"""What became of each capture, and how captures are imported as pieces."""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace

from dioptre.errors import FileError
from dioptre.pipeline.executors import Piece, run_pieces
from dioptre.pipeline.settings import Import
from dioptre.store.captures import CaptureWriter
from dioptre.store.labels import Labels, label_rows

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class CaptureOutcome:
    """What became of a capture, or of an archive.

    Attributes:
        name: Its name.
        scene: Its scene; "" if it is not known.
        split: Its split; "" if it is not known.
        patches: How many patches could be labelled.
        kept: How many of them are in the store.
        eight_bit: How many of its published frames had only 8 bits.
        fault: Why it was left out, in one sentence; "" if it was not.
    """

    name: str
    scene: str = ""
    split: str = ""
    patches: int = 0
    kept: int = 0
    eight_bit: int = 0
    fault: str = ""


Outcomes = Generator[CaptureOutcome, None, None]
Opened = tuple[CaptureWriter, Outcomes]


def stop_or_go_on(fault: str, settings: Import) -> None:
    """Raises for a fault, if it shall stop the import."""
    if fault and settings.on_error == "stop":
        raise FileError(f"{fault} (repair it and run this again, or leave it out with --on-error skip)")


def each_capture(
    pieces: Sequence[Piece[CaptureOutcome]], executor: Executor | None, done: Progress
) -> Outcomes:
    """Yields the outcome of every capture, in order; each is a piece."""
    done(0, len(pieces))
    with closing(run_pieces(pieces, executor)) as outcomes:
        for at, outcome in enumerate(outcomes, 1):
            yield outcome
            done(at, len(pieces))


def chain(first: Iterable[CaptureOutcome], then: Outcomes) -> Outcomes:
    """Yields some outcomes, then those of a generator, which is closed with this one."""
    with closing(then):
        yield from first
        yield from then


def complete(
    writer: CaptureWriter,
    settings: Import,
    outcome: CaptureOutcome,
    labels: Labels,
    camera: str,
    light: str = "normal",
) -> CaptureOutcome:
    """Returns the outcome of a capture, once the rows of its trusted patches are written.

    Its frames are all there, unless no patch is trusted: then it does not get into the store.
    """
    kept = labels.trusted(settings.confidence)
    if len(kept) and not writer.is_complete(outcome.name):
        capture = {
            "scene": outcome.scene,
            "capture": outcome.name,
            "split": outcome.split,
            "camera": camera,
            "device": camera,
            "light": light,
        }
        writer.complete(outcome.name, label_rows(kept, writer.frame, capture, writer.format.size))
    return replace(outcome, patches=len(labels), kept=len(kept))
