"""`dioptre calibrate`: what turns the disparity of a camera's views into a focus."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, print_json, progress, refuse_overwriting
from dioptre.pipeline.settings import CalibrationJob


@dataclass(frozen=True)
class Calibrate:
    """Make the calibration of a dual-pixel camera from labelled patches, for the disparity methods.

    `dioptre predict --methods zncc-disparity@OUT.toml` uses it.

    Attributes:
        data: Folder of a store of labelled patches with two views, simulated or imported.
        out: The file.
        job: How to calibrate.
        figure: Also draw the field table into this file.
        overwrite: Replace the file, and the figure, if they are there already.
        json: Print what the calibration leaves over as JSON.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT.toml")]
    job: Annotated[CalibrationJob, tyro.conf.OmitArgPrefixes]
    figure: Annotated[Path | None, tyro.conf.arg(metavar="PNG")] = None
    overwrite: bool = False
    json: bool = False


def run_calibrate(config: Calibrate) -> int:
    """Writes a calibration."""
    from dioptre.pipeline.calibrating import calibrate  # noqa: PLC0415

    for path in (config.out, config.figure):
        if path is not None:
            refuse_overwriting(path, config.overwrite)
    with progress("calibrating", config.json) as moved:
        found, left_over = calibrate(config.data, config.out, config.job, moved)
    if config.figure is not None:
        from dioptre.cli.plotting import save_figure  # noqa: PLC0415
        from dioptre.evaluate.figures import field_table  # noqa: PLC0415

        figure = field_table(found.gain, f"{found.name}: C, pixels of disparity a dioptre")
        save_figure(figure, config.figure)
    if config.json:
        print_json({"out": str(config.out), **asdict(left_over)})
        return DONE
    sys.stdout.write(
        f"wrote {config.out}: C is {found.gain.min():.3f} to {found.gain.max():.3f} pixels a dioptre over "
        f"the frame ({left_over.table_px:.3f} px left over)\non {left_over.looks} looks:\n"
    )
    for key, fit in found.fits.items():
        sys.stdout.write(
            f"  {key:<24}{left_over.indices[key]:6.2f} indices off; {fit.line.slope:.3f} dioptres a pixel "
            f"{fit.line.offset:+.3f}, {100 * left_over.inliers[key]:.0f} % inliers\n"
        )
    return DONE
