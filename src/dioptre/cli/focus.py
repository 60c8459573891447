"""`dioptre focus`: which picture of a stack is sharp, or where the lens must go from a few looks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import tyro

from dioptre.cli.console import FOCUSED, NOT_FOCUSED, print_json, progress, refuse_overwriting
from dioptre.cli.focus_answers import Answer, naming_flags, print_answers, write_csv
from dioptre.cli.focus_result import print_look_result, print_reason
from dioptre.cli.stack_flags import StackFlags
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
class PixelFlags:
    """What the numbers of the pictures are.

    Attributes:
        gamma: srgb if the pictures have the gamma of a display, linear if they have none. By default networks
            take 8-bit JPEG, PNG and the like for srgb.
        black: Value of black in the files; 0 by default.
        white: Value of white in the files; by default the largest that they can hold, 1 for floats.
    """

    gamma: Literal["srgb", "linear"] | None = None
    black: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None
    white: Annotated[float | None, tyro.conf.arg(metavar="VALUE")] = None


@dataclass(frozen=True)
class OutputFlags:
    """What is printed and written.

    Attributes:
        json: Print the result as JSON, and nothing else.
        plot: Draw the focus curve, with the sharp picture and its neighbours, into this file (.png, .pdf,
            .svg).
        csv: Write a line for each stack, or for each of its regions, into this file.
        overwrite: Replace files that are there already.
    """

    json: bool = False
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    overwrite: bool = False


@dataclass(frozen=True)
class Focus:
    """Say which picture of a stack is sharp and how sure that is, or why there is none.

    With --at, say where the lens must go from one look or a few: from a picture for each position, or from
    these slices of a whole stack.

    Exit code 0: focused. 1: not focused (why, on stderr). 2: bad input.

    Attributes:
        stacks: A folder of numbered pictures (NAME_left and NAME_right are two views), pictures, a TIFF,
            .npy, .npz, film or microscope's file. Several stacks give a table.
        roi: Look only at this region, in pixels from the top left; may be given several times.
        subject: Which of several depths, or of several regions in focus, decides. Where no positions are
            known, the last slice is the nearest.
        method: A key of `dioptre methods`, or a network's file (.onnx). By default dioptre-vote; with --at
            dioptre-single-green (or -dp) for one look, dioptre-any-green (or -dp) for several.
        at: Where the lens was at each look, such as 20 or 10,25, counted from 0 (far); with --camera in its
            unit, such as 1.25 dioptres.
        positions: Where each picture was focused: 0.2,0.4,0.6 or START:STEP, a file with a number a line,
            `names` for the numbers in file names, or `learnaf` for the 49 of the published data set.
        unit: Unit of the positions; with --camera they are in its unit.
        camera: Camera of the pictures, for networks: a camera file (docs/data.md), pixel3, dslr-50mm,
            machine-vision-16mm or microscope-4x. Positions are then in its unit. By default the phone that
            networks know.
        risk: How often an answer that is called focused may be off by more than 4 of 49 positions.
        prior: Where focus is expected: even, far (rooms, landscapes), weights from far to near such as 3,2,1,
            or a file of them; heeded by methods that give probabilities.
        output: What is printed and written.
        files: What is read from a file; by default each channel, time and position.
        pixels: What the numbers of the pictures are.
    """

    stacks: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STACK...")]
    roi: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="X,Y,W,H")] = ()
    subject: Annotated[str, tyro.conf.arg(metavar="centre|nearest|largest|most-confident")] = "centre"
    method: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    at: Annotated[str | None, tyro.conf.arg(metavar="POSITION,...")] = None
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    unit: Unit = "dioptres"
    camera: Annotated[str | None, tyro.conf.arg(metavar="FILE|MAKE")] = None
    risk: Annotated[float, tyro.conf.arg(metavar="PROBABILITY")] = 0.01
    prior: Annotated[str, tyro.conf.arg(metavar="even|far|LIST|FILE")] = "even"
    output: Annotated[OutputFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=OutputFlags)
    files: Annotated[StackFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=StackFlags)
    pixels: Annotated[PixelFlags, tyro.conf.OmitArgPrefixes] = field(default_factory=PixelFlags)


def run_focus(config: Focus) -> int:
    """Focuses a stack, or a few looks, and prints the answer."""
    from dioptre.focusing.depths import to_subject  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.posterior import DepthPrior  # noqa: PLC0415
    from dioptre.resources import set_limit  # noqa: PLC0415

    set_limit(config.files.max_gigabytes)
    for written in (config.output.plot, config.output.csv):
        if written is not None:
            refuse_overwriting(written, config.output.overwrite)
    if (
        config.output.plot is not None
        and config.output.csv is not None
        and config.output.plot.resolve() == config.output.csv.resolve()
    ):
        raise InputError(f"--plot and --csv are both to be written to {config.output.plot}")
    if config.method is not None:
        find_method(config.method)  # before reading a large stack in vain
    DepthPrior.parse(config.prior)  # likewise
    to_subject(config.subject)  # likewise
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
    if config.output.csv is not None:
        write_csv(config.output.csv, answers)
    print_answers(answers, config.output.json)
    return max(_exit_code(one.result, one.pictures.title if len(answers) > 1 else "") for one in answers)


def _open(config: Focus, looks: bool) -> "list[Pictures]":
    """Returns the stacks that are asked for, opened."""
    from dioptre.stacks.formats import open_look, open_stacks  # noqa: PLC0415

    if not config.stacks:
        raise InputError("name a stack: a folder of pictures, a multi-page TIFF, a .npy, ...")
    wanted = config.files.wanted()
    if looks and len(config.stacks) == 1:
        return [open_look(config.stacks[0], wanted)]
    stacks = open_stacks(config.stacks, wanted)
    if len(stacks) > 1 and (looks or config.output.plot is not None):
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

    with progress(f"focusing {pictures.title}", config.output.json) as moved:
        result = focus(
            pictures,
            config.method or DEFAULT_METHOD,
            **_position_arguments(values, config.unit, steps),
            roi=regions or None,
            subject=config.subject,
            black=config.pixels.black,
            white=config.pixels.white,
            prior=config.prior,
            risk=config.risk,
            gamma=config.pixels.gamma,
            progress=moved,
        )
    if config.output.plot is not None:
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

    if len(regions) > 1 or config.output.plot is not None or (config.unit == "um" and steps is None):
        raise InputError("--at takes one --roi, positions in dioptres or metres, and no --plot")
    grid = None if values is None or steps is not None else FocusGrid(values)
    if steps is None:
        positions = len(grid or FocusGrid.learnaf())
        chosen = _chosen_pictures(pictures, at, positions)  # type: ignore[arg-type]
    else:
        chosen = _pictures_of_camera(pictures, at, values)
    learned = config.method is None or isinstance(find_method(config.method).build(), Learned)
    gamma = config.pixels.gamma or ("srgb" if learned and pictures.display else "linear")
    result = focus_from(
        [(pictures.read(picture), position) for picture, position in zip(chosen, at, strict=True)],
        method=config.method,
        grid=grid,
        roi=regions[0] if regions else None,
        black=config.pixels.black,
        white=config.pixels.white,
        prior=config.prior,
        camera=steps,
        risk=config.risk,
        gamma=gamma,
    )
    names = [pictures.names[picture] for picture in chosen]
    if config.output.json:
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

    assert config.output.plot is not None
    unit = "dioptres" if config.unit == "metres" else config.unit
    title = (
        f"{Path(pictures.source).name}: {result.state.value}, confidence {result.confidence:.2f}"
        + "".join(f", {reason.value}" for reason in result.reasons)
    )
    label = "slice" if values is None else UNIT_LABELS[unit]
    save_figure(focus_figure(result, title, pictures.names, values, label), config.output.plot)
