"""`dioptre run` and `dioptre record`: a lens that is driven, focused or swept."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import tyro

from dioptre.cli.console import DONE, FOCUSED, NOT_FOCUSED, print_json, progress, refuse_overwriting, to_line
from dioptre.cli.focus import parse_roi
from dioptre.cli.focus_result import print_notes, print_reason, result_table
from dioptre.errors import InputError
from dioptre.pipeline.settings import Sweep

if TYPE_CHECKING:
    from dioptre.autofocus.autofocus import Autofocus
    from dioptre.cameras.base import OpenedCamera
    from dioptre.focusing.result import FocusResult
    from dioptre.focusing.trace import Step

Address = Annotated[str, tyro.conf.arg(metavar="DEVICE")]


@dataclass(frozen=True)
class LensFlags:
    """How the lens moves.

    Attributes:
        start: Where the first look is taken; the middle by default.
        limits: The first and the last position that the lens may go to, such as 10,40; all by default.
        backlash: Positions by which the lens goes too far and comes back, so that it always arrives moving
            towards near; negative for the other way.
        settle: How long to wait after each move before another frame is taken.
        timeout: How long all of it may take; any time by default.
        on_failure: Where the lens is left if nothing is in focus: where it began, or where it is.
    """

    start: int | None = None
    limits: Annotated[str | None, tyro.conf.arg(metavar="FIRST,LAST")] = None
    backlash: int = 0
    settle: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 0.0
    timeout: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    on_failure: Literal["return", "stay"] = "return"


@dataclass(frozen=True)
class RunOutputFlags:
    """What is printed and written.

    Attributes:
        json: Print the result as JSON, and nothing else.
        plot: Draw what the run saw and did into this file (.png, .pdf, .svg).
        trace: Write every step into this file as it is taken, a JSON object a line.
        overwrite: Replace files that are there already.
    """

    json: bool = False
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    trace: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    overwrite: bool = False


@dataclass(frozen=True)
class RunLens:
    """Focus a camera: by a few looks or else a sweep, checked at the end, every step shown.

    Positions are counted from 0, the far end of the lens. Ctrl-C stops the lens and sends it back to its
    start.

    Exit code 0: focused, and the lens is there. 1: not focused (why, on stderr), and the lens is back where
    it began. 2: bad input, or no such device.

    Attributes:
        device: The camera: replay:STACK, simulated:SEED, indi:HOST:PORT/CCD/FOCUSER, micromanager:demo,
            micromanager:CFG, picamera2 or opencv:0.
        roi: Look only at this region, in pixels from the top left.
        method: A network for looks, or a measure to sweep with: a key that `dioptre methods` lists. By
            default dioptre-any-green, or dioptre-any-dp for two views.
        camera: What the lens does, for networks: a file that `dioptre camera` wrote, pixel3, dslr-50mm,
            machine-vision-16mm or microscope-4x.
        looks: How many looks to take at most; by default 3 with two views, 4 with one.
        fallback: What to do if looks are not enough: sweep where that may find more, always, or none.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
        prior: Where focus is expected: even, far (rooms, landscapes), weights from far to near, or a file of
            them.
        lens: How the lens moves.
        output: What is printed and written.
    """

    device: Address
    roi: Annotated[str | None, tyro.conf.arg(metavar="X,Y,W,H")] = None
    method: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    camera: Annotated[str | None, tyro.conf.arg(metavar="FILE|MAKE")] = None
    looks: int | None = None
    fallback: Literal["sweep", "always", "none"] = "sweep"
    risk: Annotated[float, tyro.conf.arg(metavar="PROBABILITY")] = 0.01
    prior: Annotated[str, tyro.conf.arg(metavar="even|far|LIST|FILE")] = "even"
    lens: Annotated[LensFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=LensFlags)
    output: Annotated[RunOutputFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=RunOutputFlags)


@dataclass(frozen=True)
class Record:
    """Sweep a camera from far to near and write a stack that every other command reads.

    Attributes:
        device: The camera, as for `dioptre run`.
        out: A folder, new or empty: 16-bit pictures, positions.csv for --positions, recording.json.
        sweep: Which positions.
        json: Print what was recorded as JSON.
    """

    device: Address
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    sweep: Annotated[Sweep, tyro.conf.OmitArgPrefixes]
    json: bool = False


def run_lens(config: RunLens) -> int:
    """Focuses a camera and prints what became of it."""
    from dioptre.cameras.devices import open_device  # noqa: PLC0415
    from dioptre.confidence.reasons import State  # noqa: PLC0415

    roi = None if config.roi is None else parse_roi(config.roi)
    for written in (config.output.trace, config.output.plot):
        if written is not None:
            refuse_overwriting(written, config.output.overwrite)
    with open_device(config.device) as camera, ExitStack() as stack:
        focuser = _focuser(config, camera, _opened(config.output.trace, stack))
        if not config.output.json:
            sys.stdout.write(f"{config.device}: {_described(camera)}\n")
            sys.stdout.flush()
        result = focuser.run(roi)
    if config.output.plot is not None:
        from dioptre.cli.plotting import save_figure  # noqa: PLC0415
        from dioptre.evaluate.run_figure import run_figure  # noqa: PLC0415

        save_figure(run_figure(result, config.device), config.output.plot)
    if config.output.json:
        print_json(result.to_json())
    else:
        _print_result(result)
    for reason in result.reasons:
        print_reason(reason)
    return FOCUSED if result.state is State.FOCUSED else NOT_FOCUSED


def run_record(config: Record) -> int:
    """Records a sweep."""
    from dioptre.cameras.devices import open_device  # noqa: PLC0415
    from dioptre.pipeline.recording import record  # noqa: PLC0415

    with open_device(config.device) as camera, progress("recording", config.json) as moved:
        found = record(camera, config.device, config.out, config.sweep, moved)
    if config.json:
        print_json({"out": str(config.out), **found.to_json()})
    else:
        sys.stdout.write(f"wrote {len(found.grid)} slices to {config.out}\n")
    return DONE


def parse_limits(text: str | None) -> tuple[int, int] | None:
    """Returns the two whole numbers of `first,last`."""
    if text is None:
        return None
    try:
        first, last = (int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--limits takes FIRST,LAST, such as 10,40, not {text!r}") from None
    return first, last


def _opened(path: Path | None, stack: ExitStack) -> TextIO | None:
    return None if path is None else stack.enter_context(path.open("w", encoding="utf-8"))


def _focuser(config: RunLens, camera: "OpenedCamera", trace: TextIO | None) -> "Autofocus":
    from dioptre.autofocus.autofocus import Autofocus  # noqa: PLC0415
    from dioptre.cameras.blur_units import to_steps  # noqa: PLC0415
    from dioptre.cli.live import print_step  # noqa: PLC0415
    from dioptre.pipeline.camera_model import positions_in  # noqa: PLC0415

    best: list[float] = [float("-inf")] * len(camera.grid)

    def told(step: "Step") -> None:
        if trace is not None:
            trace.write(to_line(step.to_json()))
            trace.flush()
        if not config.output.json:
            print_step(step, best)

    optics = None if config.camera is None else to_steps(config.camera)
    return Autofocus(
        camera,
        method=config.method,
        looks=config.looks,
        fallback=None if config.fallback == "none" else config.fallback,
        limits=parse_limits(config.lens.limits),
        start=config.lens.start,
        backlash=config.lens.backlash,
        settle=config.lens.settle,
        timeout=config.lens.timeout,
        risk=config.risk,
        prior=config.prior,
        on_step=told,
        on_failure=config.lens.on_failure,
        optics=optics,
        positions=None if optics is None else positions_in(camera, optics.unit),
    )


def _described(camera: "OpenedCamera") -> str:
    from dioptre.cameras.base import connect  # noqa: PLC0415

    rows, cols = camera.shape
    views = "two views" if camera.views == 2 else "one view"
    grid = camera.grid
    text = f"{len(grid)} positions, {views} of {cols} x {rows}"
    told = connect(camera)
    if told.positions is not None:
        return f"{text}, {told.positions[0]:g} to {told.positions[-1]:g} {told.unit}"
    return f"{text}, {grid.dioptres[0]:.2f} to {grid.dioptres[-1]:.2f} dioptres" if grid.known else text


def _print_result(result: "FocusResult") -> None:
    from dioptre.cli.console import open_console  # noqa: PLC0415

    where = "nobody knows where" if result.left_at is None else f"at [bold]{result.left_at}[/]"
    frames, seconds = len(result.trace), result.trace[-1].seconds if result.trace else 0.0
    table = result_table(result, ("the lens", where))
    table.add_row("frames", f"{frames} in {seconds:.2f} s")
    open_console().print(table)
    print_notes(result)
