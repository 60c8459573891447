"""From the sweeps of a rig to depth and confidence for every camera: all steps in their order.

    composite.align -> structure_from_motion.adjust_capture                  each capture by itself
    -> consensus.agree                                                       all captures of a rig
    -> composite.compose -> mvs.rectify -> mvs.sweep_planes -> mvs.confidence    each capture by itself

The maps that come out lie on the frames: a pixel is a square of `MAP_FACTOR` pixels of a frame, depth is
dioptres along the camera's axis.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from dioptre.errors import InputError
from dioptre.groundtruth.composite import align, compose, sharpness
from dioptre.groundtruth.mvs import RectifiedView, confidence, rectify, residual, sweep_planes, to_frame
from dioptre.groundtruth.poses import Adjusted, Nominal, Poses, poses_of, refined_motion
from dioptre.groundtruth.structure_from_motion import adjust_capture
from dioptre.stack import AnyPicture

MAP_FACTOR = 4  # frame pixels along a side of a map's
WORKING_COLUMNS = 500  # that pictures are shrunk to, about
BLUR_STRIDE = 4  # slices between those whose sharpness is compared
BLURRED = 0.25  # of the other cameras' sharpness: less is out of focus
BLANK = 0.1  # of the contrast that a sweep's slices have usually: one with less shows nothing
STUCK = (
    0.8  # of its greatest sharpness is left at the least sharp slice: the lens does not move; noise has 0.7
)

Slices = Float32[np.ndarray, "slice rows cols"]


@dataclass(frozen=True, eq=False)
class CameraMaps:
    """The picture, depth, confidence and residual of one camera.

    Attributes:
        composite: The all-in-focus picture, working pixels.
        dioptres: Inverse depth, on the frame.
        confidence: Of it, 0 to 1.
        residual: How unlike the other cameras' pictures are there, working pixels, rectified.
    """

    composite: AnyPicture
    dioptres: AnyPicture
    confidence: AnyPicture
    residual: AnyPicture


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The reconstruction of a capture.

    Attributes:
        poses: Of the cameras.
        maps: Of each, in the order of `poses.names`.
        factor: Frame pixels along a side of a working one.
    """

    poses: Poses
    maps: tuple[CameraMaps, ...]
    factor: int


def working_factor(frame: tuple[int, int]) -> int:
    """Returns the side of a working pixel in frame pixels: 4 for whole frames, 1 for small ones."""
    return next((factor for factor in (4, 2) if frame[1] >= factor * WORKING_COLUMNS), 1)


def observe_capture(
    sweeps: Sequence[Slices],
    zoom: Float[np.ndarray, " slice"],
    nominal: Nominal,
    frame: tuple[int, int],
) -> Adjusted:
    """Returns the observations of a capture, and its estimate of the rig.

    Args:
        sweeps: Of each camera, in working pixels.
        zoom: Scale of the slices, as their focus distances say.
        nominal: What is known of the rig.
        frame: Rows and columns of the whole frame.

    Raises:
        InputError: If a slice is blank, a lens stuck or a view blurred, or the poses cannot be believed.
    """
    for name, sweep in zip(nominal.names, sweeps, strict=True):
        _check_slices(sweep, name)
    clear = [np.stack([sharpness(one) for one in sweep[::BLUR_STRIDE]]) for sweep in sweeps]
    for name, some in zip(nominal.names, clear, strict=True):
        _check_lens(some, name)
    _check_sharpness([some.max(axis=0) for some in clear], nominal)
    motions = [align(sweep, zoom) for sweep in sweeps]
    return adjust_capture(sweeps, motions, nominal, frame[1] // sweeps[0].shape[2])


def reconstruct_capture(
    sweeps: Sequence[Slices],
    adjusted: Adjusted,
    nominal: Nominal,
    frame: tuple[int, int],
    executor: Executor | None = None,
    threads: int = 1,
) -> Reconstruction:
    """Returns poses, depth and confidence of a capture.

    Args:
        sweeps: Of each camera, in working pixels.
        adjusted: What is known of the cameras.
        nominal: What was known before.
        frame: Rows and columns of the whole frame.
        executor: Threads.
        threads: How many.
    """
    factor = frame[1] // sweeps[0].shape[2]
    poses = poses_of(adjusted, nominal, factor)
    composites = [
        compose(sweep, refined_motion(adjusted, camera, factor)) for camera, sweep in enumerate(sweeps)
    ]
    focal = nominal.focal_px / factor
    views = [
        RectifiedView(
            rectify(picture, poses.focals[at] / factor, poses.shifts[at] / factor, poses.distortion, focal),
            focal,
            poses.rotations[at],
            poses.centres[at],
        )
        for at, picture in enumerate(composites)
    ]
    depths = [sweep_planes(views, at, executor=executor, threads=threads) for at in range(len(views))]
    maps = [
        CameraMaps(
            composites[at],
            _on_frame(depths[at].dioptres, poses, at, focal, factor, frame),
            _on_frame(confidence(views, depths, at), poses, at, focal, factor, frame),
            residual(views, depths, at),
        )
        for at in range(len(views))
    ]
    return Reconstruction(poses, tuple(maps), factor)


def _check_slices(sweep: Slices, name: str) -> None:
    """Raises if a slice shows nothing: it is black, white or of one grey."""
    dark, bright = np.percentile(sweep[:, ::BLUR_STRIDE, ::BLUR_STRIDE], [5, 95], axis=(1, 2))
    contrast = bright - dark
    blank = np.flatnonzero(contrast <= BLANK * np.median(contrast))
    if len(blank):
        which = "every slice" if len(blank) == len(sweep) else f"slice {blank[0]}"
        raise InputError(f"{which} of {name} is blank: was its lens covered, or its exposure lost?")


def _check_lens(sharp: Slices, name: str) -> None:
    """Raises if what is sharpest in some slices is as sharp in all of them."""
    most = sharp.max(axis=0)
    plain = most >= np.percentile(most, 90)
    left = float(np.median(sharp[:, plain].min(axis=0) / np.maximum(most[plain], np.float32(1e-12))))
    if left > STUCK:
        raise InputError(
            f"the lens of {name} is stuck: what is sharp in its sweep keeps {left:.0%} of its contrast of "
            "details at every slice"
        )


def _check_sharpness(sharp: Sequence[AnyPicture], nominal: Nominal) -> None:
    """Raises if what is sharpest in one camera's sweep is plainly less sharp than in the others'."""
    levels = np.array([float(np.percentile(one, 90)) for one in sharp])
    for at, name in enumerate(nominal.names):
        others = float(np.median(np.delete(levels, at)))
        if levels[at] < BLURRED * others:
            raise InputError(
                f"the view of {name} is blurred: at its sharpest it has {levels[at] / others:.0%} of the "
                "others' contrast of details"
            )


def _on_frame(
    values: AnyPicture, poses: Poses, at: int, focal: float, factor: int, frame: tuple[int, int]
) -> AnyPicture:
    shape = frame[0] // MAP_FACTOR, frame[1] // MAP_FACTOR
    lens = poses.focals[at] / factor, poses.shifts[at] / factor
    return to_frame(values, *lens, poses.distortion, focal, shape, MAP_FACTOR / factor)
