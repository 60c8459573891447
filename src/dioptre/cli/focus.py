"""`dioptre focus`: which picture of a stack is sharp, or where the lens must go from a few looks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import tyro

from dioptre.cli.console import FOCUSED, NOT_FOCUSED, print_json, progress, refuse_overwriting
from dioptre.cli.focus_answers import Answer, naming_flags, print_answers, write_csv
from dioptre.cli.focus_result import print_look_result, print_reason
from dioptre.errors import InputError, StackFileError

if TYPE_CHECKING:
    import numpy as np

    from dioptre.cameras.blur_units import FocusSteps
    from dioptre.focusing.result import FocusResult
    from dioptre.stacks.pictures import Pictures

Number = TypeVar("Number", int, float)
Unit = Literal["dioptres", "metres", "um"]
UNIT_LABELS = {"dioptres": "focus (dioptres)", "metres": "focus distance (m)", "um": "position (µm)"}


@dataclass(frozen=True)
class Focus:
    """Say which picture of a stack is sharp, how sure that is, and why not when it is not.

    With --at, say from one picture, or from a few, where the lens must go: networks tell it from such looks.

    Exit code 0: focused. 1: not focused (reason on stderr). 2: bad input.

    Attributes:
        stacks: A folder of pictures (PNG, JPEG, TIFF, 8 or 16 bit; *_left and *_right for two views) in the
            numeric order of their names, or the pictures themselves; a multi-page TIFF, a .npy, a .npz, a
            film, a microscope's file; with --at also one picture. Several stacks give a table.
        axes: What the axes of an array or a TIFF are, a letter each: Z slices, Y rows, X columns, C channels,
            T times, P positions of the stage, V left and right, S colours; such as YXZ.
        channel: Only this channel of a microscope's file, by its name or its number from 0; all by default.
        time: Only this time of it, from 0; all by default.
        position: Only this position of the stage, from 0; all by default.
        views: Two channels are the left and the right view.
        gamma: srgb: the pictures have the gamma of a display, which is undone; linear: they have none. By
            default it is undone for networks, in 8-bit JPEG, PNG and the like.
        csv: Write a line for each stack, or for each region of it, into this file.
        at: Position of the lens, counted from 0 (far), or several, separated by commas: tell from these looks
            where it must go. Of a whole stack, these slices are looked at; otherwise there is a picture for
            each position, in the same order. The positions are those of the published data set, unless given;
            with --camera they are numbers in its unit, such as 1.25 (dioptres) or 1800 (counts).
        method: How to tell; `dioptre methods` lists all. By default dioptre-vote; with one look
            dioptre-single-green, or dioptre-single-dp for two views; with several dioptre-any-green or
            dioptre-any-dp.
        prior: Where things are expected before looking: even, far (rooms and landscapes), a list of weights
            such as 3,2,1, one for each position, far to near, or a file of them. Only methods that know
            probabilities heed it.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions: with less,
            more is refused.
        roi: Look only at this region, in pixels from the top left; may be given several times.
        subject: Which decides where the picture has several depths: what fills most of the centre, the
            nearest to the camera (the last slice counts as nearest when the positions are not known), the
            largest, or the most confident. The same of several regions, of those in focus somewhere.
        camera: Whose pictures these are, for networks, which know only the phone that they were trained on: a
            camera file (docs/data.md; either a thin lens, whose positions are dioptres, or two numbers,
            `growth_px` and `unit`), or one of pixel3, dslr-50mm, machine-vision-16mm, microscope-4x. Then
            --at, --positions and the answer are in its unit. Without it the phone is assumed, and the answer
            says so (assumed-camera).
        positions: Where each picture was focused: `names` (the number in the file names, as in
            IMG_00.198.jpg), a list 0.2,0.4,0.6, START:STEP, a file with a number a line, or `learnaf` (the 49
            positions of the published data set).
        unit: What the positions are; with --camera they are in its unit.
        black: Value of black in the files; 0 by default.
        white: Value of white in the files; by default the largest that the files can hold, 1 for floats.
        json: Print the result as JSON.
        plot: Draw the focus curve, with the chosen picture and its neighbours, into this file (.png, .pdf,
            .svg).
        overwrite: Replace a file to write if it is there already.
        max_gigabytes: How much memory the pictures may take; half of the machine's by default.
    """

    stacks: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STACK...")]
    axes: Annotated[str | None, tyro.conf.arg(metavar="LETTERS")] = None
    channel: Annotated[str | None, tyro.conf.arg(metavar="NAME|N")] = None
    time: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    position: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    views: bool = False
    gamma: Literal["srgb", "linear"] | None = None
    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    at: Annotated[str | None, tyro.conf.arg(metavar="POSITION,...")] = None
    method: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    prior: Annotated[str, tyro.conf.arg(metavar="even|far|LIST|FILE")] = "even"
    risk: Annotated[float, tyro.conf.arg(metavar="PROBABILITY")] = 0.01
    roi: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="X,Y,W,H")] = ()
    subject: Literal["centre", "nearest", "largest", "most-confident"] = "centre"
    camera: Annotated[str | None, tyro.conf.arg(metavar="FILE|MAKE")] = None
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    unit: Unit = "dioptres"
    black: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None
    white: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None
    json: bool = False
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    overwrite: bool = False
    max_gigabytes: Annotated[float | None, tyro.conf.arg(metavar="GB")] = None


def run_focus(config: Focus) -> int:
    """Focuses a stack, or a few looks, and prints the answer."""
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.posterior import DepthPrior  # noqa: PLC0415
    from dioptre.resources import set_limit  # noqa: PLC0415

    set_limit(config.max_gigabytes)
    for written in (config.plot, config.csv):
        if written is not None:
            refuse_overwriting(written, config.overwrite)
    if config.plot is not None and config.csv is not None and config.plot.resolve() == config.csv.resolve():
        raise InputError(f"--plot and --csv are both to be written to {config.plot}")
    if config.method is not None:
        find_method(config.method)  # before reading a large stack in vain
    DepthPrior.parse(config.prior)  # likewise
    regions = [parse_roi(text) for text in config.roi]
    steps = None if config.camera is None else _read_camera(config)
    at = None if config.at is None else (parse_at if steps is None else parse_lens)(config.at)
    with naming_flags():
        stacks = _open(config, at is not None)
    answers = []
    for pictures in stacks:
        values = None if config.positions is None else _read_positions(config, pictures)
        with naming_flags(pictures.source):
            if at is not None:
                return _focus_looks(config, at, pictures, regions, values, steps)
            answers.append(Answer(pictures, _focus_stack(config, pictures, regions, values, steps)))
    if config.csv is not None:
        write_csv(config.csv, answers)
    print_answers(answers, config.json)
    return max(_exit_code(one.result, one.pictures.title if len(answers) > 1 else "") for one in answers)


def _open(config: Focus, looks: bool) -> "list[Pictures]":
    """Returns the stacks that are asked for, opened."""
    from dioptre.stacks.axes import Wanted  # noqa: PLC0415
    from dioptre.stacks.formats import open_look, open_stacks  # noqa: PLC0415

    if not config.stacks:
        raise InputError("name a stack: a folder of pictures, a multi-page TIFF, a .npy, ...")
    wanted = Wanted(config.axes, config.channel, config.time, config.position, config.views)
    if looks and len(config.stacks) == 1:
        return [open_look(config.stacks[0], wanted)]
    stacks = open_stacks(config.stacks, wanted)
    if len(stacks) > 1 and (looks or config.plot is not None):
        flag = "--at" if looks else "--plot"
        raise InputError(
            f"{flag} takes one stack, not {len(stacks)}: {', '.join(one.title for one in stacks)}"
        )
    return stacks


def _focus_stack(
    config: Focus,
    pictures: "Pictures",
    regions: list[tuple[int, int, int, int]],
    values: "np.ndarray[Any, Any] | None",
    steps: "FocusSteps | None",
) -> "FocusResult":
    """Returns which picture of a whole stack is sharp, and plots it."""
    from dioptre.focusing.focus import DEFAULT_METHOD, focus  # noqa: PLC0415

    with progress(f"focusing {pictures.title}", config.json) as moved:
        result = focus(
            pictures,
            config.method or DEFAULT_METHOD,
            **_position_arguments(values, config.unit, steps),
            roi=regions or None,
            subject=config.subject,
            black=config.black,
            white=config.white,
            prior=config.prior,
            risk=config.risk,
            gamma=config.gamma,
            progress=moved,
        )
    if config.plot is not None:
        _plot(config, pictures, result, values)
    return result


def _focus_looks(
    config: Focus,
    at: tuple[int | float, ...],
    pictures: "Pictures",
    regions: list[tuple[int, int, int, int]],
    values: "np.ndarray[Any, Any] | None",
    steps: "FocusSteps | None",
) -> int:
    """Prints where the lens must go from one look, or from several."""
    from dioptre.focusing.focus import focus_from  # noqa: PLC0415
    from dioptre.grid import FocusGrid  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.methods.learned import Learned  # noqa: PLC0415

    if len(regions) > 1 or config.plot is not None or (config.unit == "um" and steps is None):
        raise InputError("--at takes one --roi, positions in dioptres or metres, and no --plot")
    grid = None if values is None or steps is not None else FocusGrid(values)
    if steps is None:
        positions = len(grid or FocusGrid.learnaf())
        chosen = _chosen_pictures(pictures, at, positions)  # type: ignore[arg-type]
    else:
        chosen = _pictures_of_camera(pictures, at, values)
    learned = config.method is None or isinstance(find_method(config.method).build(), Learned)
    gamma = config.gamma or ("srgb" if learned and pictures.display else "linear")
    result = focus_from(
        [(pictures.read(picture), position) for picture, position in zip(chosen, at, strict=True)],
        method=config.method,
        grid=grid,
        roi=regions[0] if regions else None,
        black=config.black,
        white=config.white,
        prior=config.prior,
        camera=steps,
        risk=config.risk,
        gamma=gamma,
    )
    names = [pictures.names[picture] for picture in chosen]
    if config.json:
        looks = {"name": names[0], "at": at[0]} if len(at) == 1 else {"names": names, "at": list(at)}
        record = {"stack": pictures.source, **looks, **result.to_json()}
        print_json(record)
    else:
        print_look_result(pictures.source, pictures, result)
    return _exit_code(result)


def _chosen_pictures(stack: "Pictures", at: tuple[int, ...], positions: int) -> tuple[int, ...]:
    """Returns which pictures were taken at these positions: slices of a whole stack, or all of a few."""
    pictures = len(stack)
    for position in at:
        if not 0 <= position < positions:
            raise InputError(f"--at is a position of the ladder, 0..{positions - 1}, not {position}")
    if pictures == positions:
        return at
    if pictures == len(at):
        return tuple(range(pictures))
    raise InputError(
        f"{stack.source} has {pictures} pictures, but the ladder {positions} positions and --at {len(at)}: "
        "give a picture for each position of either"
    )


def _pictures_of_camera(
    stack: "Pictures", at: tuple[int | float, ...], values: "np.ndarray[Any, Any] | None"
) -> tuple[int, ...]:
    """Returns which pictures were taken at these positions, in a camera's unit."""
    pictures = len(stack)
    if values is None:
        if pictures != len(at):
            raise InputError(
                f"{stack.source} has {pictures} pictures, but --at {len(at)} positions: give a picture for "
                "each, or the position of every picture (--positions)"
            )
        return tuple(range(pictures))
    known = values.tolist()
    for position in at:
        if position not in known:
            nearest = min(known, key=lambda one: abs(one - position))
            raise InputError(f"no picture was taken at {position:g}: the nearest is at {nearest:g}")
    return tuple(known.index(position) for position in at)


def _exit_code(result: "FocusResult", stack: str = "") -> int:
    """Returns 0 for focused, or says on stderr why not and returns 1; warnings are said in either case."""
    from dioptre.confidence.reasons import Reason, State  # noqa: PLC0415

    focused = result.state is State.FOCUSED
    for reason in result.reasons:
        if reason is Reason.ASSUMED_CAMERA or not focused:
            print_reason(reason, f"{stack}: " if stack else "")
    return FOCUSED if focused else NOT_FOCUSED


def parse_at(text: str) -> tuple[int, ...]:
    """Returns the whole numbers of `k` or `k,k,...`."""
    return _numbers(text, int, "a position of the lens, or several such as 10,25")


def parse_lens(text: str) -> tuple[float, ...]:
    """Returns the numbers of `x` or `x,x,...`, positions in a camera's unit."""
    return _numbers(text, float, "a position in the camera's unit, or several such as 1.2,1.35")


def _numbers(text: str, kind: Callable[[str], Number], wanted: str) -> tuple[Number, ...]:
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--at takes {wanted}, not {text!r}") from None


def parse_roi(text: str) -> tuple[int, int, int, int]:
    """Returns the four whole numbers of `x,y,w,h`."""
    try:
        x, y, w, h = (int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--roi takes x,y,w,h in whole pixels, such as 100,80,128,128, not {text!r}"
        ) from None
    return x, y, w, h


def _read_camera(config: Focus) -> "FocusSteps":
    from dioptre.cameras.blur_units import to_steps  # noqa: PLC0415

    steps = to_steps(config.camera)
    known = ("dioptres", "metres") if steps.unit == "dioptres" else ("dioptres", steps.unit)
    if config.unit not in known:
        raise InputError(
            f"positions of {steps.name} are in {steps.unit}, not in {config.unit}: leave out --unit"
        )
    return steps


def _read_positions(config: Focus, pictures: "Pictures") -> "np.ndarray[Any, Any]":
    from dioptre.grid import FocusGrid, metres_to_dioptres  # noqa: PLC0415
    from dioptre.stacks.positions import read_positions  # noqa: PLC0415

    assert config.positions is not None
    if config.positions == "learnaf":
        if config.unit != "dioptres":
            raise InputError(f"the positions learnaf are in dioptres, not {config.unit}: leave out --unit")
        return FocusGrid.learnaf().dioptres
    try:
        values = read_positions(config.positions, pictures.names)
    except StackFileError as error:
        raise StackFileError(f"{error} (--positions)") from None
    return metres_to_dioptres(values) if config.unit == "metres" else values  # type: ignore[return-value]


def _position_arguments(
    values: "np.ndarray[Any, Any] | None", unit: Unit, steps: "FocusSteps | None"
) -> dict[str, Any]:
    if steps is not None:
        return {"camera": steps, "positions": values}
    if values is None:
        return {}
    return {"positions_um": values} if unit == "um" else {"dioptres": values}


def _plot(config: Focus, pictures: "Pictures", result: "FocusResult", values: Any) -> None:
    from dioptre.cli.plotting import save_figure  # noqa: PLC0415
    from dioptre.evaluate.focus_figure import focus_figure  # noqa: PLC0415

    assert config.plot is not None
    unit = "dioptres" if config.unit == "metres" else config.unit
    title = (
        f"{Path(pictures.source).name}: {result.state.value}, confidence {result.confidence:.2f}"
        + "".join(f", {reason.value}" for reason in result.reasons)
    )
    label = "slice" if values is None else UNIT_LABELS[unit]
    save_figure(focus_figure(result, title, pictures.names, values, label), config.plot)
