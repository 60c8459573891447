"""`dioptre run` and `dioptre record`: a lens that is driven, focused or swept."""

import sys
import textwrap
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import tyro

from dioptre.autofocus.lens_settings import LensMotion, LensSearch
from dioptre.cli.console import DONE, print_json, progress, refuse_overwriting, to_line
from dioptre.cli.flags import WIDTH
from dioptre.cli.focus import parse_roi
from dioptre.cli.focus_result import print_notes, print_state, result_table
from dioptre.errors import InputError
from dioptre.pipeline.settings import Sweep

if TYPE_CHECKING:
    from dioptre.autofocus.autofocus import Autofocus
    from dioptre.cameras.base import OpenedCamera
    from dioptre.focusing.result import FocusResult
    from dioptre.focusing.trace import Step

LEARNED: Final = "blur grows by "  # so begins the note on what was learned of a lens


@dataclass(frozen=True)
class DeviceFlags:
    """Which camera, and which lens.

    Attributes:
        device: The camera: replay:STACK, simulated:SEED, indi:HOST:PORT/CCD/FOCUSER, micromanager:demo,
            micromanager:CFG, picamera2, opencv:0, or pair:CAMERA+LENS.
        lens: The lens, where it is not the camera's own: another device, or FILE.py:NAME, a function of yours
            that moves it. A camera may be a function of yours, too.
        unit: What its positions are counted in, if FILE.py does not say; --limits then says how far it goes.
    """

    device: Annotated[str, tyro.conf.arg(metavar="DEVICE")]
    lens: Annotated[str | None, tyro.conf.arg(metavar="LENS")] = None
    unit: Annotated[str | None, tyro.conf.arg(metavar="WORD")] = None

    @property
    def address(self) -> str:
        """The address of camera and lens together."""
        return self.device if self.lens is None else f"pair:{self.device}+{self.lens}"

    @property
    def devices(self) -> tuple[str, ...]:
        """The addresses of the camera and of the lens, if that is another device."""
        return (self.device,) if self.lens is None else (self.device, self.lens)

    def open(self, motion: LensMotion) -> "OpenedCamera":
        """Returns the camera, open."""
        from dioptre.cameras.devices import open_device  # noqa: PLC0415

        return open_device(self.device, self.lens, limits=motion.limits, unit=self.unit)


@dataclass(frozen=True)
class RunOutputFlags:
    """What is printed and written.

    Attributes:
        json: Print the result as JSON, and nothing else.
        full: With --json, print the long lists too: scores, positions and posteriors.
        plot: Draw what the run saw and did into this file (.png, .pdf, .svg).
        trace: Write every step into this file as it is taken, a JSON object a line.
        overwrite: Replace files that are there already.
    """

    json: bool = False
    full: bool = False
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    trace: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    overwrite: bool = False


@dataclass(frozen=True)
class RunLens:
    """Focus a camera: by a few looks or else a sweep, checked at the end, every step shown.

    Positions are in the lens's own unit: steps, micrometres, dioptres. Ctrl-C stops the lens and sends it
    back to its start.

    Exit code 0: focused, and the lens is there. 1: uncertain, and the lens is at the best answer; or failed,
    and it is back where it began (--on-failure); why, on stderr. 2: bad input, or no such device.

    Attributes:
        hardware: Which camera, and which lens.
        roi: Look only at this region, in pixels from the top left.
        camera: What the lens does, for networks: a file that `dioptre camera` wrote, pixel3, dslr-50mm,
            machine-vision-16mm or microscope-4x.
        memory: Where to keep how much blur a unit of the lens adds, once that was learned, so that the next
            run takes fewer looks; by default a file of this device and size of frame in the user's state
            folder, and nothing of replay: and simulated:. none keeps nothing.
        search: How the focus is looked for.
        motion: How the lens moves.
        output: What is printed and written.
    """

    hardware: Annotated[DeviceFlags, tyro.conf.OmitArgPrefixes]
    roi: Annotated[str | None, tyro.conf.arg(metavar="X,Y,W,H")] = None
    camera: Annotated[str | None, tyro.conf.arg(metavar="FILE|MAKE")] = None
    memory: Annotated[str | None, tyro.conf.arg(metavar="FILE|none")] = None
    search: Annotated[LensSearch, tyro.conf.OmitArgPrefixes] = field(default_factory=LensSearch)
    motion: Annotated[LensMotion, tyro.conf.OmitArgPrefixes] = field(default_factory=LensMotion)
    output: Annotated[RunOutputFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=RunOutputFlags)


@dataclass(frozen=True)
class Record:
    """Sweep a camera and write a stack that every other command reads.

    Attributes:
        hardware: The camera, as for `dioptre run`.
        out: A folder, new or empty: 16-bit pictures, positions.csv, and recording.json, which other commands
            read.
        sweep: Which positions.
        json: Print what was recorded as JSON.
    """

    hardware: Annotated[DeviceFlags, tyro.conf.OmitArgPrefixes]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    sweep: Annotated[Sweep, tyro.conf.OmitArgPrefixes]
    json: bool = False


def run_lens(config: RunLens) -> int:
    """Focuses a camera and prints what became of it."""
    roi = None if config.roi is None else parse_roi(config.roi)
    if config.output.full and not config.output.json:
        raise InputError("--full goes with --json")
    if config.output.trace is not None:
        refuse_overwriting(config.output.trace, config.output.overwrite)
    if config.output.plot is not None:
        from dioptre.cli.plotting import refuse_figure  # noqa: PLC0415

        refuse_figure(config.output.plot, config.output.overwrite)
    with config.hardware.open(config.motion) as camera, ExitStack() as stack:
        focuser = _focuser(config, camera, _opened(config.output.trace, stack))
        result = focuser.run(roi)
    if config.output.plot is not None:
        from dioptre.cli.plotting import save_figure  # noqa: PLC0415
        from dioptre.evaluate.run_figure import run_figure  # noqa: PLC0415

        save_figure(run_figure(result, config.hardware.address), config.output.plot)
    if config.output.json:
        print_json(result.to_json(config.output.full))
    else:
        _print_result(result)
    return print_state(result, config.search.risk)


def run_record(config: Record) -> int:
    """Records a sweep."""
    from dioptre.pipeline.recording import record  # noqa: PLC0415

    with config.hardware.open(config.sweep) as camera, progress("recording", config.json) as moved:
        found = record(camera, config.hardware.address, config.out, config.sweep, moved)
    if config.json:
        print_json({"out": str(config.out), **found.to_json()})
    else:
        sys.stdout.write(f"wrote {len(found.grid)} slices to {config.out}\n")
    return DONE


def _opened(path: Path | None, stack: ExitStack) -> TextIO | None:
    return None if path is None else stack.enter_context(path.open("w", encoding="utf-8"))


def _focuser(config: RunLens, camera: "OpenedCamera", trace: TextIO | None) -> "Autofocus":
    from dioptre.autofocus.autofocus import Autofocus  # noqa: PLC0415
    from dioptre.cameras.camera_files import describe  # noqa: PLC0415
    from dioptre.cli.lens_memory import memory_file  # noqa: PLC0415
    from dioptre.cli.live import print_step  # noqa: PLC0415

    if config.camera is not None:
        describe(config.camera)  # says if there is none
    memory = memory_file(config.memory, config.hardware.devices, camera.shape)
    seen: list["Step"] = []

    def told(step: "Step") -> None:
        if not seen and not config.output.json:  # what cannot be used was refused by now
            sys.stdout.write(_described(config.hardware.address, camera) + "\n")
        seen.append(step)
        if trace is not None:
            trace.write(to_line(step.to_json()))
            trace.flush()
        if not config.output.json:
            print_step(step, camera.grid.units_per_index(0))

    settings = vars(config.search) | vars(config.motion)
    return Autofocus(camera, config.camera, told, memory=memory, **settings)


def _described(device: str, camera: "OpenedCamera") -> str:
    rows, cols = camera.shape
    grid = camera.grid
    unit = "slices" if grid.unit == "slice" else grid.unit
    text = f"{len(grid)} positions, {grid.positions[0]:g} to {grid.positions[-1]:g} {unit}"
    if grid.known and unit != "dioptres":
        text += f" ({grid.dioptres[0]:.2f} to {grid.dioptres[-1]:.2f} dioptres)"
    text += f"; {'two views' if camera.views == 2 else 'one view'} of {cols} x {rows}"
    line = f"{device}: {text}"
    wrapped = textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return line if len(line) <= WIDTH else "\n".join([f"{device}:", *wrapped])


def _print_result(result: "FocusResult") -> None:
    from rich.markup import escape  # noqa: PLC0415

    from dioptre.cli.console import open_console  # noqa: PLC0415
    from dioptre.cli.live import position_in_words  # noqa: PLC0415

    where = "nobody knows where"
    if result.left_at is not None:
        at = f"[bold]{position_in_words(result.left_at, result.grid.units_per_index(0))}[/]"
        where = f"at slice {at}" if result.unit == "slice" else f"at {at} {result.unit}"
    frames, seconds = len(result.trace), result.trace[-1].seconds if result.trace else 0.0
    table = result_table(result, ("the lens", where))
    learned = [note for note in result.notes if note.startswith(LEARNED)]
    for note in learned:
        table.add_row("learned", escape(note))
    table.add_row("frames", f"{frames} in {seconds:.2f} s")
    open_console().print(table)
    print_notes(replace(result, notes=tuple(note for note in result.notes if note not in learned)))
