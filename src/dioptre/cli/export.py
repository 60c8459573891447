"""`dioptre export`: a trained network as one ONNX file."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dioptre.cli.console import DONE, print_json, refuse_overwriting
from dioptre.errors import InputError


@dataclass(frozen=True)
class Export:
    """Write the network of a finished training as an ONNX file that explains itself.

    What was written is run and compared with torch before it gets its name.

    Attributes:
        run: Folder that `dioptre train` wrote.
        model: The file.
        half: Store weights in half precision: half the file, the same speed.
        decision: How the answer is read off the posterior: the likeliest position (mode) or the one with the
            least expected error (median); by default as networks of its kind are.
        int8: Compute in 8-bit integers, calibrated on the patches of --data; prints what accuracy that costs.
        data: Patch store to calibrate integers on (its split train) and to measure them (its split
            validation).
        overwrite: Replace the file if it is there already.
        json: Print what was found as JSON.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    model: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL.onnx")]
    half: bool = False
    decision: Literal["mode", "median"] | None = None
    int8: bool = False
    data: Annotated[Path | None, tyro.conf.arg(metavar="DATA")] = None
    overwrite: bool = False
    json: bool = False


def run_export(config: Export) -> int:
    """Writes an ONNX file."""
    from dioptre.cli.train import need_torch  # noqa: PLC0415

    refuse_overwriting(config.model, config.overwrite, makes_folder=True)
    need_torch()
    from dioptre.posterior import Decision  # noqa: PLC0415
    from dioptre.store.patches import open_patches  # noqa: PLC0415
    from dioptre.train.export import export, export_int8  # noqa: PLC0415

    if config.int8:
        if config.data is None:
            raise InputError("--int8 measures its ranges on patches: give a store with --data")
        if config.decision is not None:
            raise InputError("--decision does not go with --int8, which keeps how its kind is read")
        found = export_int8(config.run, config.model, open_patches(config.data))
    else:
        decision = None if config.decision is None else Decision(config.decision)
        found = export(config.run, config.model, config.half, decision)
    if config.json:
        print_json({**asdict(found), "path": str(found.path)})
        return DONE
    sys.stdout.write(
        f"wrote {found.path}: {found.bytes / 1e6:.2f} MB; probabilities differ from torch's by at most "
        f"{found.difference:.2g}\n"
    )
    if found.mae is not None and found.torch_mae is not None:
        sys.stdout.write(
            f"mean error on validation patches: {found.mae:.3f} indices in integers, "
            f"{found.torch_mae:.3f} before\n"
        )
    return DONE
