"""What trees and archives of the published set share: the store's writer, labels, and what may clash."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from dioptre.errors import CaptureFileError
from dioptre.grid import FocusGrid
from dioptre.pipeline.importing.outcomes import CaptureOutcome
from dioptre.pipeline.settings import Import
from dioptre.store.captures import LONGEST_NAME, CaptureWriter
from dioptre.store.format import StoreFormat
from dioptre.store.labels import SIZE, STRIDE, FrameSize, Labels
from dioptre.store.manifest import MANIFEST, hash_file
from dioptre.store.published.layout import (
    BLACK,
    WHITE,
    CaptureFiles,
    PublishedFile,
    Validation,
    capture_scene,
    published_labels,
    scene_split,
)

PUBLISHED = "published"  # what a store's config calls the source
GRID = FocusGrid.learnaf()
VIEWS = ("left", "right")


def open_writer(out: Path, settings: Import, frame: FrameSize) -> CaptureWriter:
    """Returns the writer of a store of the published set, begun or resumed.

    What is no part of the config may differ when a run is resumed: both forms of the frames give the same.
    """
    config: dict[str, object] = {
        "source": PUBLISHED,
        "cameras": sorted(settings.camera_names),
        "stride": STRIDE,
        "min_depth_m": settings.min_depth,
        "max_depth_m": settings.max_depth,
        "confidence": settings.confidence,
        "rotate": settings.rotate,
        "validation": settings.validation,
    }
    if settings.maps:
        config["maps"] = hash_file(Path(settings.maps) / MANIFEST)
    form = StoreFormat(GRID, SIZE, len(VIEWS), BLACK, WHITE)
    writer = CaptureWriter(out, form, frame, config)
    writer.begin()
    return writer


def begin_outcome(item: PublishedFile | CaptureFiles, settings: Import) -> CaptureOutcome:
    """Returns the outcome of a capture as far as its name tells: its scene and its split."""
    scene = capture_scene(item.capture)
    return CaptureOutcome(
        item.name, scene, scene_split(scene, item.part, Validation.parse(settings.validation))
    )


@dataclass(eq=False)
class Inventory:
    """Where captures and scenes have been found so far.

    Attributes:
        containers: Part or archive that each capture was found in first.
        splits: Split of each scene, and the part or archive that told.
    """

    containers: dict[str, str] = field(default_factory=dict)
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)

    def clash(self, outcome: CaptureOutcome, container: str) -> str:
        """Returns the reason why a capture cannot be taken from a part or an archive; "" if it can."""
        if len(outcome.name) > LONGEST_NAME:
            length = len(outcome.name)
            return f"{outcome.name[:40]}... has a name of {length} letters, not {LONGEST_NAME} or less"
        first = self.containers.setdefault(outcome.name, container)
        if first != container:
            return f"{outcome.name} is in {first} and in {container}: only the first is taken"
        split, told = self.splits.setdefault(outcome.scene, (outcome.split, container))
        if split != outcome.split:
            return (
                f"{outcome.name} in {container} is for {outcome.split}, but its scene {outcome.scene} "
                f"in {told} is for {split}: a scene has one split"
            )
        return ""


def read_labels(
    depth: UInt8[np.ndarray, "_ _"], confidence: Float[np.ndarray, "_ _"], settings: Import, frame: FrameSize
) -> Labels:
    """Returns the labels of all patches of a capture."""
    return published_labels(
        depth,
        confidence,
        frame,
        GRID,
        settings.min_depth,
        settings.max_depth,
        settings.rotate,
        SIZE,
        STRIDE,
    )


def frames_without(there: Container[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the frames of a capture, (slice, view), that are not among some."""
    return [frame for frame in product(range(len(GRID)), range(len(VIEWS))) if frame not in there]


def refuse_missing(missing: Sequence[tuple[int, int]]) -> None:
    """Raises if frames, (slice, view), are missing."""
    if missing:
        index, view = missing[0]
        raise CaptureFileError(
            f"it lacks {len(missing)} of its {len(GRID) * len(VIEWS)} frames, the first is slice {index} "
            f"of the {VIEWS[view]} view"
        )


def check_index(index: int) -> None:
    """Raises if there is no such position."""
    if index >= len(GRID):
        raise CaptureFileError(f"it has a slice {index}, but slices are 0..{len(GRID) - 1}")


def check_frame(found: FrameSize, frame: FrameSize, name: str) -> None:
    """Raises if a file makes a frame of another size than the store has."""
    if found != frame:
        raise CaptureFileError(
            f"{name} makes a frame of {found[0]} x {found[1]} pixels, "
            f"but the first that was read is {frame[0]} x {frame[1]}"
        )
