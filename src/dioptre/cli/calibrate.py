"""`dioptre calibrate`: what turns the disparity of a camera's views into a focus."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dioptre.cli.console import progress
from dioptre.errors import InputError


@dataclass(frozen=True)
class Calibrate:
    """Make the calibration of a dual-pixel camera from labelled patches, for the disparity methods.

    `dioptre predict --methods zncc-disparity@OUT.toml` uses it.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folder of a store of labelled patches with two views, simulated or imported."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT.toml")]
    """The file."""

    name: str = ""
    """What to call the camera; the file's name by default."""

    planes: Literal["patches", "center", "left"] = "patches"
    """Fit the field table to the patches, or to planes before a simulated phone, as a factory does."""

    camera: Annotated[str, tyro.conf.arg(metavar="CAMERA")] = "pixel3"
    """pixel3, or a TOML file that describes a camera (docs/data.md): its ladder and frame."""

    split: Literal["train", "validation", "test", "all"] = "train"
    """Which patches."""

    starts: int = 9
    """At how many lens positions each patch is seen."""

    seed: int = 0
    """Of the planes and of RANSAC."""

    figure: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    """Also draw the field table."""

    json: bool = False
    """Print what the calibration leaves over as JSON."""


def run_calibrate(config: Calibrate) -> int:
    """Writes a calibration."""
    from dioptre.methods.calibration import SUFFIX  # noqa: PLC0415
    from dioptre.pipeline.calibrating import Calibrating, calibrate  # noqa: PLC0415

    if config.out.suffix != SUFFIX:
        raise InputError(f"a calibration is a {SUFFIX} file, not {config.out}")
    planes = "" if config.planes == "patches" else config.planes
    name = config.name or config.out.stem
    settings = Calibrating(name, planes, config.camera, config.split, config.starts, config.seed)
    with progress("calibrating", config.json) as moved:
        found, left_over = calibrate(config.data, settings, moved)
    about = {"made by": "dioptre calibrate", **asdict(settings), **asdict(left_over)}
    found.to_toml(
        config.out,
        {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in about.items()},
    )
    if config.figure is not None:
        from dioptre.evaluate.figures import field_table, save  # noqa: PLC0415

        save(field_table(found.gain, f"{name}: C, pixels of disparity a dioptre"), config.figure)
    if config.json:
        sys.stdout.write(json.dumps({"out": str(config.out), **asdict(left_over)}) + "\n")
        return 0
    sys.stdout.write(
        f"wrote {config.out}: C is {found.gain.min():.3f} to {found.gain.max():.3f} pixels a dioptre over "
        f"the frame ({left_over.table_px:.3f} px left over); the line has {found.line.slope:.3f} dioptres a "
        f"pixel and leaves {left_over.line_dioptres:.3f} dioptres ({100 * left_over.inliers:.0f} % inliers)\n"
        f"on {left_over.looks} looks: zncc-disparity {left_over.zncc_indices:.2f} indices off, ssd-disparity "
        f"{left_over.ssd_indices:.2f} in the central crop\n"
    )
    return 0
