"""Poses, depth and confidence for captures of a rig: what labels are made of.

    OUT/<part>/merged_depth, merged_conf   as published: what `dioptre import --maps OUT` takes
    OUT/<part>/reconstruction/<capture>/
        poses.json, cameras.txt, images.txt, points3D.txt   poses, and the same as a COLMAP model
        <camera>.png                       all-in-focus pictures, which the model is of
        <camera>.npy                       depth as floats, dioptres
        index.html and its pictures        composite, depth, confidence, residual
        outcome.json                       written last: what was found, or why nothing was
    OUT/manifest.json                      written last

A piece is a capture. A capture that cannot be reconstructed has no depth at all: it is left out with a
reason, or stops the run, as asked.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt16

from dioptre.cameras.makes import find_camera
from dioptre.dataset import schema
from dioptre.dataset.decoding import quiet_readers
from dioptre.dataset.frames import decode_frame
from dioptre.dataset.lock import locked
from dioptre.dataset.manifest import (
    begin_folder,
    clear_leftovers,
    read_json,
    write_file,
    write_json,
    write_manifest,
)
from dioptre.dataset.published import BLACK, CAMERAS, WHITE, CaptureFiles, list_captures
from dioptre.dataset.published_files import ROTATION, write_array, write_maps, write_picture
from dioptre.errors import CaptureFileError, FileError, InputError
from dioptre.groundtruth.colmap import colmap_model
from dioptre.groundtruth.reconstruct import CameraMaps, Reconstruction, reconstruct_capture, working_factor
from dioptre.groundtruth.sfm import Nominal
from dioptre.methods.measure import workers
from dioptre.optics import CameraModel, breathing
from dioptre.pipeline.importing.published import frames_without, refuse_missing
from dioptre.pipeline.processes import run_pieces
from dioptre.pipeline.settings import Reconstruct
from dioptre.simulate.rig import ARM_M, nominal_centres
from dioptre.simulate.world import reference_focal_px

KIND = "reconstruction"
FOLDER = "reconstruction"
RIG = "rig.json"
OUTCOME = "outcome.json"
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
        pieces = [partial(_reconstruct, out, settings, camera, known, files) for files in groups]
        outcomes = []
        done(0, len(pieces))
        with closing(run_pieces(pieces, executor)) as results:
            for at, outcome in enumerate(results, 1):
                if outcome["fault"] and settings.on_error == "stop":
                    raise FileError(
                        f"{outcome['fault']} (repair it and run this again, or leave it out with "
                        "--on-error skip)"
                    )
                outcomes.append(outcome)
                done(at, len(pieces))
        summary = _summary(outcomes)
        if not summary["captures"]:
            raise FileError(f"nothing of {source} could be reconstructed: {summary['skipped'][0]['reason']}")
        clear_leftovers(out)
        write_manifest(out, {**plan, "summary": summary})
    return summary


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


def _reconstruct(
    out: Path, settings: Reconstruct, camera: CameraModel, known: Mapping[str, Any], files: RigFiles
) -> dict[str, Any]:
    """Returns what became of one capture, once its files are written."""
    first = files[0]
    folder = out / first.part / FOLDER / first.capture
    if (folder / OUTCOME).is_file():
        before = read_json(folder / OUTCOME)
        schema.OUTCOME.check(folder / OUTCOME, before)
        return before
    folder.mkdir(parents=True, exist_ok=True)
    outcome: dict[str, Any] = {"capture": first.capture, "fault": "", "confident": 0.0}
    try:
        with quiet_readers():
            found, frame = reconstruct_files(files, settings, camera, known)
    except (CaptureFileError, InputError) as error:
        outcome["fault"] = f"{first.capture}: {error}"
    else:
        _write(folder, out / first.part, first.capture, found, frame)
        outcome["confident"] = float(np.mean([one.confidence >= SURE for one in found.maps]))
        outcome["poses"] = found.poses.to_json()
    write_json(folder / OUTCOME, outcome)
    return outcome


def reconstruct_files(
    files: RigFiles, settings: Reconstruct, camera: CameraModel, known: Mapping[str, Any]
) -> tuple[Reconstruction, tuple[int, int]]:
    """Returns what is found in a capture's files, and the size of its frames.

    Raises:
        CaptureFileError: If a camera or a frame is missing or cannot be read.
        InputError: If what is found cannot be believed.
    """
    by_name = {one.camera: one for one in files}
    missing = [name for name in CAMERAS if name not in by_name]
    if missing:
        raise CaptureFileError(f"it lacks the camera {', '.join(missing)} of the five of a rig")
    sweeps: list[Float32[np.ndarray, "slice rows cols"]] = []
    frame = (0, 0)
    for name in CAMERAS:
        sweep, found = read_sweep(by_name[name])
        if sweeps and found != frame:
            raise CaptureFileError(
                f"the frames of {name} have {found[0]} x {found[1]} pixels, and those of {CAMERAS[0]} "
                f"{frame[0]} x {frame[1]}"
            )
        frame = found
        sweeps.append(sweep)
    nominal = nominal_rig(settings, camera, known)
    count = workers()
    with ThreadPoolExecutor(count) if count > 1 else nullcontext() as threads:
        found_all = reconstruct_capture(sweeps, breathing(camera), nominal, frame, threads, count)
    return found_all, frame


def nominal_rig(settings: Reconstruct, camera: CameraModel, known: Mapping[str, Any]) -> Nominal:
    """Returns what is known of a rig: what was told, then what lies beside the captures, then the paper's."""
    try:
        spacing = settings.spacing_mm / 1e3 or float(known.get("spacing_mm", 1e3 * ARM_M)) / 1e3
        centres = {name: np.array(place) / 1e3 for name, place in known.get("nominal_mm", {}).items()}
        centres = centres or nominal_centres(spacing)
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
