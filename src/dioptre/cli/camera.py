"""`dioptre camera`: what a camera's lens does, measured, as a file that the networks are told."""

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from dioptre.cli.console import DONE, print_json, progress, refuse_overwriting
from dioptre.cli.focus import parse_roi
from dioptre.cli.lens import DeviceFlags
from dioptre.pipeline.settings import Sweep

if TYPE_CHECKING:
    from dioptre.pipeline.camera_model import MeasuredCamera


@dataclass(frozen=True)
class MeasureCamera:
    """Measure a camera: how fast blur grows along its lens's way, backlash, settling, disparity of two views.

    The lens is swept there and back before a textured target that faces the camera and fills the region, such
    as a printed page, somewhere within the sweep. The file is what --camera and camera= read: with it the
    shipped networks work on that camera.

    Attributes:
        hardware: The camera, as for `dioptre run`; simulated:SEED,target stands before a target.
        out: The file.
        sweep: Which positions.
        roi: The region that the target fills, in pixels from the top left; the whole frame by default.
        name: What to call the camera; its address by default.
        overwrite: Replace the file if it is there already.
        json: Print what was found as JSON.
    """

    hardware: Annotated[DeviceFlags, tyro.conf.OmitArgPrefixes]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT.toml")]
    sweep: Annotated[Sweep, tyro.conf.OmitArgPrefixes]
    roi: Annotated[str | None, tyro.conf.arg(metavar="X,Y,W,H")] = None
    name: str | None = None
    overwrite: bool = False
    json: bool = False


def run_camera(config: MeasureCamera) -> int:
    """Measures a camera and writes its file."""
    from dioptre.focusing.inputs import to_rois  # noqa: PLC0415
    from dioptre.pipeline.camera_model import measure_camera, write_camera  # noqa: PLC0415

    refuse_overwriting(config.out, config.overwrite)
    roi = None if config.roi is None else parse_roi(config.roi)
    with config.hardware.open(config.sweep) as camera, progress("measuring", config.json) as moved:
        (region,) = to_rois(roi, camera.shape)
        found = measure_camera(camera, config.name or config.hardware.address, config.sweep, region, moved)
    write_camera(found, config.out)
    if config.json:
        print_json({"out": str(config.out), **asdict(found)})
    else:
        sys.stdout.write(described(found, config.out))
    return DONE


def described(found: "MeasuredCamera", out: Path) -> str:
    """Returns the measurements of a camera as a few lines of text."""
    unit = found.unit.removesuffix("s")  # dioptre, step
    far, near = (
        "not seen" if math.isnan(growth) else f"{growth:.3g} px"
        for growth in (found.growth_far_px, found.growth_near_px)
    )
    lines = [
        f"wrote {out}",
        f"  blur grows by {abs(found.growth_px):.3g} px per {unit}, sure to {found.sure:.0%}",
        f"    focused farther than the target {far}, nearer {near}",
        f"  backlash {found.backlash:.3g} {found.unit}, {found.backlash_positions:.2f} positions",
        f"  settled {found.settle_s:.3g} s after the first frame of a move",
    ]
    if found.disparity_px is not None:
        lines.append(
            f"  disparity changes by {found.disparity_px:.4g} +- {found.disparity_error_px:.2g} px "
            f"per {unit}, {found.split:.3f} of the blur"
        )
    return "\n".join([*lines, ""])
