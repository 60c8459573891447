"""Poses, depth and confidence for captures of a rig: what labels are made of.

    OUT/<part>/merged_depth, merged_conf   as published: what `dioptre import --maps OUT` takes
    OUT/<part>/reconstruction/<capture>/
        poses.json, cameras.txt, images.txt, points3D.txt   poses, and the same as a COLMAP model
        <camera>.png                       all-in-focus pictures, which the model is of
        <camera>.npy                       depth as floats, dioptres
        index.html and its pictures        composite, depth, confidence, residual
        adjusted.npz, told.json            points, and what the capture says about its rig, or why nothing
        outcome.json                       written last: what was found, or why nothing was
    OUT/poses.json                         the rig's cameras, as all captures tell them together
    OUT/manifest.json                      written last

A piece is a capture, twice: its poses, and once all captures of the rig have agreed on theirs its depth. A
capture that cannot be reconstructed has no depth at all: it is left out with a reason, or stops the run, as
asked.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt16

from dioptre.cameras.camera_presets import find_camera
from dioptre.errors import CaptureFileError, FileError, InputError
from dioptre.groundtruth.bundle import Expected
from dioptre.groundtruth.colmap import colmap_model
from dioptre.groundtruth.consensus import RigEstimate, SharedRig, agree, astray
from dioptre.groundtruth.poses import Adjusted, Nominal, hold_rig, meant_rig, rig_to_json
from dioptre.groundtruth.reconstruct import (
    CameraMaps,
    Reconstruction,
    observe_capture,
    reconstruct_capture,
    working_factor,
)
from dioptre.optics import CameraModel, breathing, reference_focal_px
from dioptre.pipeline.executors import run_pieces
from dioptre.pipeline.importing.published import frames_without, refuse_missing
from dioptre.pipeline.settings import Reconstruct
from dioptre.resources import workers
from dioptre.rig import ARM_M, CAMERAS, nominal_centres
from dioptre.stacks.decoding import quiet_readers
from dioptre.store import schema
from dioptre.store.lock import locked
from dioptre.store.manifest import (
    begin_folder,
    clear_leftovers,
    hash_folder,
    read_json,
    write_file,
    write_json,
    write_manifest,
)
from dioptre.store.npz import read_bundle
from dioptre.store.published.frames import decode_frame
from dioptre.store.published.layout import BLACK, WHITE, CaptureFiles, list_captures
from dioptre.store.published.writing import (
    ROTATION,
    write_array,
    write_arrays,
    write_maps,
    write_picture,
)

KIND = "reconstruction"
FOLDER = "reconstruction"
RIG, POSES = "rig.json", "poses.json"
OUTCOME, TOLD, ADJUSTED = "outcome.json", "told.json", "adjusted.npz"
SURE = 0.99

RigFiles = tuple[CaptureFiles, ...]
Progress = Callable[[int, int], None]


def reconstruct(
    source: Path, out: Path, settings: Reconstruct, executor: Executor | None, done: Progress
) -> dict[str, Any]:
    """Writes depth and confidence of all captures of a source, and returns a summary.

    A run that was stopped goes on where it was.

    Args:
        source: Captures in the layout of the published set.
        out: The folder.
        settings: How.
        executor: Who does it, a capture each; None for this process. The result does not depend on it.
        done: Called with the number of captures done and of all.

    Raises:
        FileError: If there is nothing to reconstruct, or nothing could be, or with on_error "stop" at the
            first fault.
    """
    settings.check()
    camera = find_camera(settings.camera)
    groups = _captures(source)
    known = read_json(source / RIG) if (source / RIG).is_file() else {}
    schema.RIG.check(source / RIG, known)
    plan = {"kind": KIND, "settings": asdict(settings), "rig": known}
    with locked(out):
        begin_folder(out, plan, "a reconstruction")
        job = Job(out, settings, camera, known)
        first = [partial(observe_files, job, files) for files in groups]
        observed = _run(first, executor, settings, lambda count: done(count, 2 * len(groups)))
        rig, elsewhere = _agree(job, observed)
        second = [partial(_reconstruct, job, rig, elsewhere, files) for files in groups]
        outcomes = _run(second, executor, settings, lambda count: done(len(groups) + count, 2 * len(groups)))
        summary = _summary(outcomes)
        if not summary["captures"]:
            raise FileError(f"nothing of {source} could be reconstructed: {summary['skipped'][0]['reason']}")
        clear_leftovers(out)
        files = hash_folder(out, (*{one[0].part for one in groups}, POSES))
        write_manifest(out, {**plan, "summary": summary, "files": files})
    return summary


@dataclass(frozen=True)
class Job:
    """What all pieces of a reconstruction share.

    Attributes:
        out: The folder.
        settings: How.
        camera: The make.
        known: What lies beside the captures about the rig.
    """

    out: Path
    settings: Reconstruct
    camera: CameraModel
    known: Mapping[str, Any]

    def folder(self, files: RigFiles) -> Path:
        """Returns the folder of a capture's results."""
        return self.out / files[0].part / FOLDER / files[0].capture


def _run(
    pieces: Sequence[Callable[[], dict[str, Any]]],
    executor: Executor | None,
    settings: Reconstruct,
    done: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Returns the outcome of each piece; raises at the first fault if asked to."""
    outcomes = []
    done(0)
    with closing(run_pieces(pieces, executor)) as results:
        for at, outcome in enumerate(results, 1):
            if outcome["fault"] and settings.on_error == "stop":
                raise FileError(
                    f"{outcome['fault']} (repair it and run this again, or leave it out with --on-error skip)"
                )
            outcomes.append(outcome)
            done(at)
    return outcomes


def _agree(job: Job, observed: Sequence[Mapping[str, Any]]) -> tuple[SharedRig | None, list[str]]:
    """Returns the rig that the captures tell together, and writes it, and the captures that say otherwise.

    The rig is None if each stands for itself.
    """
    told = [RigEstimate.from_json(one["told"]) for one in observed if not one["fault"]]
    if job.settings.rig == "each" or not told:
        return None, []
    nominal = nominal_rig(job.settings, job.camera, job.known)
    off = astray(told)
    kept = [one for one, wrong in zip(told, off, strict=True) if not wrong]
    rig = agree(kept, meant_rig(nominal), Expected(), nominal.spacing_m)
    left_out = [one.name for one, wrong in zip(told, off, strict=True) if wrong]
    write_json(job.out / POSES, rig_to_json(rig, nominal, len(kept), left_out))
    return rig, left_out


def _captures(source: Path) -> list[RigFiles]:
    """Returns the files of each capture's cameras."""
    if not source.is_dir():
        raise FileError(f"there is no folder {source}")
    found = list_captures(source, CAMERAS, ("raw", "up"))
    if not found:
        raise FileError(
            f"{source} holds no captures in the layout of the published set (train1/raw_left_pd/...)"
        )
    return [tuple(group) for _, group in groupby(found, key=lambda one: (one.part, one.capture))]


def _summary(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    good = [one for one in outcomes if not one["fault"]]
    return {
        "captures": len(good),
        "confident": float(np.mean([one["confident"] for one in good])) if good else 0.0,
        "skipped": [{"name": one["capture"], "reason": one["fault"]} for one in outcomes if one["fault"]],
    }


def observe_files(job: Job, files: RigFiles) -> dict[str, Any]:
    """Returns the estimate of the rig by one capture, or why there is none, once that is written."""
    folder, name = job.folder(files), files[0].capture
    if (folder / TOLD).is_file() and not (told := _read_told(folder))["fault"]:
        return told  # a fault may have been repaired since
    folder.mkdir(parents=True, exist_ok=True)
    outcome: dict[str, Any] = {"capture": name, "fault": "", "told": None}
    try:
        sweeps, frame = _read(files)
        nominal = nominal_rig(job.settings, job.camera, job.known)
        adjusted = observe_capture(sweeps, breathing(job.camera), nominal, frame)
    except (CaptureFileError, InputError) as error:
        outcome["fault"] = f"{name}: {error}"
    else:
        write_arrays(folder / ADJUSTED, adjusted.arrays())
        outcome["told"] = RigEstimate.of(name, adjusted.bundle, adjusted.start, adjusted.expected).to_json()
    write_json(folder / TOLD, outcome)
    return outcome


def _read_told(folder: Path) -> dict[str, Any]:
    """Returns the estimate of the rig that an earlier run has written for a capture."""
    told = read_json(folder / TOLD)
    schema.TOLD.check(folder / TOLD, told)
    return told


def _reconstruct(
    job: Job, rig: SharedRig | None, elsewhere: Sequence[str], files: RigFiles
) -> dict[str, Any]:
    """Returns the outcome of one capture, once its files are written."""
    first, folder = files[0], job.folder(files)
    values = None if rig is None else rig.values(1.0).tolist()
    if (folder / OUTCOME).is_file():
        before = read_json(folder / OUTCOME)
        schema.OUTCOME.check(folder / OUTCOME, before)
        if not before["fault"] and before["rig"] == values:
            return before
    fault = _read_told(folder)["fault"]
    if first.capture in elsewhere:
        fault = (
            f"{first.capture}: its cameras stand elsewhere than those of the other captures: was the rig "
            "touched? (--rig each takes each capture for itself)"
        )
    outcome: dict[str, Any] = {"capture": first.capture, "fault": fault, "rig": values, "confident": 0.0}
    if not fault:
        found, frame = _depth(job, rig, files)
        _write(folder, job.out / first.part, first.capture, found, frame)
        outcome["confident"] = float(np.mean([one.confidence >= SURE for one in found.maps]))
        outcome["poses"] = found.poses.to_json()
    write_json(folder / OUTCOME, outcome)
    return outcome


def _depth(job: Job, rig: SharedRig | None, files: RigFiles) -> tuple[Reconstruction, tuple[int, int]]:
    """Returns poses and depth of a capture whose points were found, and the size of its frames."""
    sweeps, frame = _read(files)
    adjusted = Adjusted.from_arrays(read_bundle(job.folder(files) / ADJUSTED))
    if rig is not None:
        adjusted = hold_rig(adjusted, rig)
    nominal = nominal_rig(job.settings, job.camera, job.known)
    count = workers()
    with ThreadPoolExecutor(count) if count > 1 else nullcontext() as threads:
        return reconstruct_capture(sweeps, adjusted, nominal, frame, threads, count), frame


def _read(files: RigFiles) -> tuple[list[Float32[np.ndarray, "slice rows cols"]], tuple[int, int]]:
    """Returns the sweeps of a capture's cameras, and the size of its frames.

    Raises:
        CaptureFileError: If a camera or a frame is missing or cannot be read.
    """
    by_name = {one.camera: one for one in files}
    missing = [name for name in CAMERAS if name not in by_name]
    if missing:
        raise CaptureFileError(f"it lacks the camera {', '.join(missing)} of the five of a rig")
    sweeps: list[Float32[np.ndarray, "slice rows cols"]] = []
    frame = (0, 0)
    for name in CAMERAS:
        with quiet_readers():
            sweep, found = read_sweep(by_name[name])
        if sweeps and found != frame:
            raise CaptureFileError(
                f"the frames of {name} have {found[0]} x {found[1]} pixels, and those of {CAMERAS[0]} "
                f"{frame[0]} x {frame[1]}"
            )
        frame = found
        sweeps.append(sweep)
    return sweeps, frame


def nominal_rig(settings: Reconstruct, camera: CameraModel, known: Mapping[str, Any]) -> Nominal:
    """Returns the nominal rig: by the settings, else by the file beside the captures, else the paper's."""
    try:
        spacing = settings.spacing_mm / 1e3 or float(known.get("spacing_mm", 1e3 * ARM_M)) / 1e3
        told = {name: np.array(place) / 1e3 for name, place in known.get("nominal_mm", {}).items()}
        centres = told or nominal_centres(spacing)
        places = np.stack([centres[name] for name in CAMERAS]).astype(np.float64)
        focal = float(known.get("focal_px", reference_focal_px(camera)))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{RIG} does not describe a rig: {error}") from None
    meant = float(np.mean(np.linalg.norm(places[1:] - places[0], axis=1)))
    return Nominal(CAMERAS, places * (spacing / meant), spacing, focal, camera.grid.dioptres)


def read_sweep(files: CaptureFiles) -> tuple[Float32[np.ndarray, "slice rows cols"], tuple[int, int]]:
    """Returns the mean of both views of a sweep in working pixels, and the size of its frames."""
    refuse_missing(frames_without({(index, view) for index, view, _, _ in files.frames}))
    slices: dict[int, Float32[np.ndarray, "rows cols"]] = {}
    frame = (0, 0)
    for index, _, path, sampling in files.frames:
        try:
            codes = decode_frame(path.read_bytes(), str(path), sampling, ROTATION)
        except OSError as error:
            raise CaptureFileError(f"{path} cannot be read: {error.strerror or error}") from None
        found = 2 * codes.shape[0], codes.shape[1]
        if slices and found != frame:
            raise CaptureFileError(f"{path} makes a frame of {found}, and the others are of {frame}")
        frame = found
        picture = _working(codes, working_factor(frame))
        slices[index] = slices[index] + picture if index in slices else picture
    return np.stack([slices[index] / 2 for index in sorted(slices)]), frame


def _working(codes: UInt16[np.ndarray, "native_row col"], factor: int) -> Float32[np.ndarray, "rows cols"]:
    """Returns native codes as linear light, 1 at white, in squares of so many pixels of the frame."""
    light = (codes.astype(np.float32) - np.float32(BLACK)) / np.float32(WHITE - BLACK)
    if factor == 1:
        padded = np.pad(light, ((1, 1), (0, 0)), mode="edge")
        out = np.empty((2 * len(light), light.shape[1]), np.float32)
        out[::2] = 0.25 * padded[:-2] + 0.75 * padded[1:-1]
        out[1::2] = 0.75 * padded[1:-1] + 0.25 * padded[2:]
        return out
    rows, cols = 2 * light.shape[0] // factor, light.shape[1] // factor
    cut = light[: rows * factor // 2, : cols * factor]
    return cut.reshape(rows, factor // 2, cols, factor).mean(axis=(1, 3))


# Writing


def _write(folder: Path, part: Path, capture: str, found: Reconstruction, frame: tuple[int, int]) -> None:
    for name, maps in zip(found.poses.names, found.maps, strict=True):
        write_maps(part, capture, name, maps.dioptres, maps.confidence)
        write_array(folder / f"{name}.npy", maps.dioptres)
        for ending, picture in pictures(maps).items():
            write_picture(folder / f"{name}{ending}.png", picture)
    write_json(folder / "poses.json", found.poses.to_json())
    for name, text in colmap_model(found.poses, frame, found.factor).items():
        write_file(folder / name, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
    page = make_page(capture, found)
    write_file(folder / "index.html", lambda file: file.write(page.encode()))


def pictures(maps: CameraMaps) -> dict[str, np.ndarray]:
    """Returns pictures of a camera's maps, by what is added to the camera's name; 8 bits, grey or colour."""
    bright = np.clip(maps.composite / max(float(np.percentile(maps.composite, 99)), 1e-6), 0, 1)
    near = np.clip(maps.dioptres / max(float(np.percentile(maps.dioptres, 99)), 1e-6), 0, 1)
    ramp = np.stack([1 - near, 1 - np.abs(2 * near - 1), near], axis=-1)  # blue is far, red is near
    sure = maps.confidence[..., None]
    return {
        "": np.rint(255 * bright ** (1 / 2.2)).astype(np.uint8),
        "_depth": np.rint(255 * ramp).astype(np.uint8),
        "_sure": np.rint(255 * ramp * sure).astype(np.uint8),
        "_confidence": np.rint(255 * maps.confidence).astype(np.uint8),
        "_residual": np.rint(255 * np.clip(4 * maps.residual, 0, 1)).astype(np.uint8),
    }


def make_page(capture: str, found: Reconstruction) -> str:
    """Returns an HTML page that shows a capture's pictures."""
    poses = found.poses
    head = ("composite", "depth", "depth where sure", "confidence", "residual")
    rows = []
    for name, maps in zip(poses.names, found.maps, strict=True):
        cells = "".join(f'<td><img src="{name}{ending}.png"></td>' for ending in pictures(maps))
        sure = float(np.mean(maps.confidence >= SURE))
        rows.append(f"<tr><th>{name}<br>{sure:.0%} sure</th>{cells}</tr>")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{capture}</title>'
        "<style>body{font-family:sans-serif}img{width:18vw}th{padding:.5em}</style>"
        f"<h1>{capture}</h1><p>{len(poses.points)} points, seen to {poses.pixel:.2f} pixels of the frame; "
        f"{poses.explained:.0%} of the observations agree; parallax over focus {poses.focus_ratio:.2f}.</p>"
        f"<table><tr><th></th>{''.join(f'<th>{one}</th>' for one in head)}</tr>"
        f"{''.join(rows)}</table></html>\n"
    )
