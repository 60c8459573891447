"""Which pictures shall a plane sweep compare: all-in-focus ones, or for each plane the slices focused on it?

    python -m lab.rigs.labels --rigs 2 --captures 2 --lens averaged --keep DIR    captures
    python -m lab.rigs.focus_sweep DIR --captures 4                               a minute or two

Slices in focus are exact in theory: they are sharp at the right plane, and their scale is their own. But at a
wrong plane they are blurred, and what is blurred is alike. Poses, scales and axes are the true ones, so that
only the sweep is compared, for the middle camera: the share of pixels within 0.06 and 0.1 dioptres, of all
and of those away from edges of depth.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32
from scipy.ndimage import maximum_filter, minimum_filter

from dioptre.groundtruth import kernels, mvs
from dioptre.groundtruth.composite import compose
from dioptre.groundtruth.register import Motion
from dioptre.optics import CameraModel, focus_to_magnification, reference_focal_px
from dioptre.pipeline.reconstructing import read_sweep
from dioptre.rig import CAMERAS
from dioptre.stack import Picture
from dioptre.store.published.layout import CaptureFiles, list_captures
from lab.rigs.labels import EDGE

WITHIN = (0.06, 0.1)

Slices = Float32[np.ndarray, "slice rows cols"]


@dataclass(frozen=True, eq=False)
class Phone:
    """One camera of a capture, as it truly was.

    Attributes:
        slices: Its sweep.
        rotation: Rotation from the world.
        centre: Place, metres.
        focal: Focal length at the far end of the grid, pixels.
        motion: How its slices moved.
        distortion: Its coefficients.
    """

    slices: Slices
    rotation: Float[np.ndarray, "3 3"]
    centre: Float[np.ndarray, "3"]
    focal: float
    motion: Motion
    distortion: Float[np.ndarray, "2"]


def read_phone(files: CaptureFiles, truth: Path, camera: CameraModel) -> Phone:
    """Returns a camera's sweep and what is true of it."""
    known = json.loads((truth / files.capture / f"{files.camera}.json").read_text())
    far = float(focus_to_magnification(camera, float(camera.grid.dioptres[0])))
    zoom = np.asarray(focus_to_magnification(camera, np.array(known["focus"]))) / far
    return Phone(
        read_sweep(files)[0],
        np.array(known["turn"]),
        np.array(known["centre_mm"]) / 1e3,
        known["focal_px"],
        Motion(zoom, np.array(known["axis_px"])),
        np.array(known["bend"]),
    )


def rectified(phone: Phone, at: int, wanted_px: float) -> Picture:
    """Returns one slice as a pinhole camera has it."""
    zoom, shift = float(phone.motion.zoom[at]), phone.motion.shift[at]
    return mvs.rectify(phone.slices[at], phone.focal * zoom, shift, phone.distortion, wanted_px)


def composites(phones: Sequence[Phone], wanted_px: float) -> list[mvs.RectifiedView]:
    """Returns the all-in-focus views of a capture."""
    views = []
    for phone in phones:
        whole = compose(phone.slices, phone.motion)
        picture = mvs.rectify(whole, phone.focal, np.zeros(2), phone.distortion, wanted_px)
        views.append(mvs.RectifiedView(picture, wanted_px, phone.rotation, phone.centre))
    return views


def sweep_in_focus(
    phones: Sequence[Phone], views: Sequence[mvs.RectifiedView], dioptres: Float[np.ndarray, " slice"]
) -> mvs.DepthEstimate:
    """Returns the depth of the first camera, each plane by the slices that are focused nearest to it.

    Args:
        phones: The cameras.
        views: The same, all in focus: costs are smoothed along the edges of the first.
        dioptres: Where each slice was told to focus.
    """
    reference, limits = views[0], mvs.sweep_range()
    rows, cols = reference.picture.shape
    rhos = np.linspace(*limits, mvs.SWEEP.planes)
    guide = mvs._Guide.of(mvs.channels(reference.picture)[0])
    ways = [reference.to(one) for one in views[1:]]
    volume = np.empty((mvs.SWEEP.planes, rows, cols), np.float32)
    costs = np.empty((len(ways), rows, cols), np.float32)
    room = [np.empty((rows, cols), np.float32) for _ in range(3)]
    spare = np.zeros((rows, cols + 2 * mvs.SWEEP.radius), np.float32)
    nearest = np.abs(rhos[:, None] - dioptres).argmin(axis=1)
    for k, at in enumerate(nearest):
        if k == 0 or at != nearest[k - 1]:
            pictures = [mvs.channels(rectified(one, int(at), reference.focal_px)) for one in phones]
        for cost, picture, (rotation, move) in zip(costs, pictures[1:], ways, strict=True):
            kernels.match_plane(
                pictures[0], picture, reference.focal_px, (cols - 1) / 2, (rows - 1) / 2, rotation, move,
                rhos[k], np.float32(mvs.SWEEP.cut), cost,
            )  # fmt: skip
            kernels.smooth_cost(
                cost, guide.picture, guide.count, guide.mean, guide.variance, mvs.SWEEP.radius,
                np.float32(mvs.SWEEP.keep), spare, *room,
            )  # fmt: skip
        kernels.best_half(costs, volume[k])
    return mvs._pick(volume, limits)


def shares(depth: mvs.DepthEstimate, phone: Phone, truth: Picture, wanted_px: float) -> list[float]:
    """Returns the shares of pixels within the limits, of all and of those away from edges of depth."""
    shape = truth.shape[0], truth.shape[1]
    found = mvs.to_frame(depth.dioptres, phone.focal, np.zeros(2), phone.distortion, wanted_px, shape, 1.0)
    off = np.abs(found - truth)
    away = maximum_filter(truth, 17) - minimum_filter(truth, 17) <= EDGE
    return [float(np.mean(off[here] < limit)) for here in (off >= 0, away) for limit in WITHIN]


def compare(files: Sequence[CaptureFiles], truth: Path) -> tuple[list[float], list[float]]:
    """Returns the shares of both sweeps for one capture."""
    camera = CameraModel.pixel3()
    phones = [read_phone(one, truth, camera) for one in files]
    frame = phones[0].slices.shape[2]
    wanted = reference_focal_px(camera) * frame / camera.frame[1]
    right = np.load(truth / files[0].capture / f"{files[0].camera}.npy")
    views = composites(phones, wanted)
    sharp = shares(mvs.sweep_planes(views, 0), phones[0], right, wanted)
    return sharp, shares(sweep_in_focus(phones, views, camera.grid.dioptres), phones[0], right, wanted)


def main() -> None:
    """Sweeps both ways, compares, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what lab.rigs.labels kept of --lens averaged or binned")
    parser.add_argument("--captures", type=int, default=4)
    given = parser.parse_args()
    groups: dict[tuple[Path, str], dict[str, CaptureFiles]] = {}
    for folder in sorted(one for one in given.folder.iterdir() if one.name.isdecimal()):
        for files in list_captures(folder / "captures", CAMERAS, ("raw", "up")):
            groups.setdefault((folder, files.capture), {})[files.camera] = files
    chosen = np.linspace(0, len(groups) - 1, min(given.captures, len(groups))).astype(int)
    began, rows = time.process_time(), []
    print(f"{'':24}composites: within 0.06, 0.1 D (away from edges)   slices in focus: the same")
    for at in chosen:
        (folder, name), by_camera = list(groups.items())[at]
        rows.append(compare([by_camera[one] for one in CAMERAS], folder / "captures/truth"))
        print(f"{folder.name + ' ' + name:24}" + "   ".join(_line(one) for one in rows[-1]), flush=True)
    print(f"{'mean':24}" + "   ".join(_line(np.mean(one, axis=0)) for one in zip(*rows, strict=True)))
    print(f"{time.process_time() - began:.0f} s of processor time")


def _line(shares: Sequence[float]) -> str:
    every, close, far, farther = shares
    return f"{every:.1%} {close:.1%} ({far:.1%} {farther:.1%})"


if __name__ == "__main__":
    main()
