"""How captures become patches, what became of each, and work on many captures at a time."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from dioptre.dataset.captures import CaptureWriter
from dioptre.dataset.frames import Rotation, Sampling
from dioptre.dataset.labels import FARTHEST_M, NEAREST_M, Labels, label_rows
from dioptre.dataset.published import CAMERAS, Validation
from dioptre.errors import FileError, InputError
from dioptre.pipeline.processes import map_in_order

SAMPLINGS: dict[str, tuple[Sampling, ...]] = {"raw": ("raw",), "up": ("up",), "auto": ("raw", "up")}

Progress = Callable[[int, int], None]
Capture = TypeVar("Capture")


@dataclass(frozen=True)
class Import:
    """How captures become labelled patches.

    Attributes:
        cameras: Which cameras of the published rig.
        pd: Which frames of the published set: native ("raw"), upsampled ("up"), or whichever is there.
        min_depth_m: Distance of the published depth code 0.
        max_depth_m: Distance of the published depth code 255.
        confidence: Least median confidence of a patch that is kept.
        rotate: Which way the published portrait files are turned to landscape.
        validation: A fraction of the published training scenes, or their names, separated by commas.
        on_error: Leave out what cannot be read ("skip"), or stop there ("stop").
    """

    cameras: tuple[str, ...] = ("center",)
    pd: Literal["raw", "up", "auto"] = "auto"
    min_depth_m: float = NEAREST_M
    max_depth_m: float = FARTHEST_M
    confidence: float = 0.99
    rotate: Rotation = "ccw"
    validation: str = ""
    on_error: Literal["skip", "stop"] = "skip"

    def __post_init__(self) -> None:
        unknown = [name for name in self.cameras if name not in CAMERAS]
        if unknown or not self.cameras:
            raise InputError(
                f"the cameras are some of {', '.join(CAMERAS)}, not {', '.join(unknown) or 'none'}"
            )
        if not 0 < self.min_depth_m < self.max_depth_m:
            raise InputError(
                f"depths lie between 0 < min < max, not {self.min_depth_m:g} m and {self.max_depth_m:g} m"
            )
        if not 0 <= self.confidence <= 1:
            raise InputError(f"a confidence lies in [0, 1], not {self.confidence:g}")
        Validation.parse(self.validation)  # raises if it is wrong

    @property
    def samplings(self) -> tuple[Sampling, ...]:
        """The samplings of the published frames that are taken, the preferred one first."""
        return SAMPLINGS[self.pd]


@dataclass(frozen=True)
class Outcome:
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


Outcomes = Generator[Outcome, None, None]
Opened = tuple[CaptureWriter, Outcomes]


def stop_or_go_on(fault: str, settings: Import) -> None:
    """Raises for a fault, if it shall stop the import."""
    if fault and settings.on_error == "stop":
        raise FileError(f"{fault} (repair it and run this again, or leave it out with --on-error skip)")


def each_capture(
    task: Callable[[Capture], Outcome], captures: Sequence[Capture], workers: int, done: Progress
) -> Outcomes:
    """Yields the outcome of every capture, in order; several processes work on them if there are workers."""
    done(0, len(captures))
    with closing(map_in_order(task, captures, workers)) as outcomes:
        for at, outcome in enumerate(outcomes, 1):
            yield outcome
            done(at, len(captures))


def chain(first: Iterable[Outcome], then: Outcomes) -> Outcomes:
    """Yields some outcomes, then those of a generator, which is closed with this one."""
    with closing(then):
        yield from first
        yield from then


def complete(
    writer: CaptureWriter,
    settings: Import,
    outcome: Outcome,
    labels: Labels,
    camera: str,
    light: str = "normal",
) -> Outcome:
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
