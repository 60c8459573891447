"""`dioptre focus`: which picture of a stack is sharp, or where the lens must go from a few looks."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from dioptre.cli.console import print_json, progress, refuse_overwriting
from dioptre.cli.focus_answers import Answer, naming_flags, print_answers, write_csv, write_depths_csv
from dioptre.cli.focus_result import print_look_result, print_state
from dioptre.cli.stack_flags import StackFlags, read_flags
from dioptre.cli.streams import one_line
from dioptre.errors import InputError

if TYPE_CHECKING:
    from dioptre.cameras.camera_files import CameraOptics
    from dioptre.focusing.result import FocusResult
    from dioptre.grid import FocusGrid
    from dioptre.stacks.pictures import Pictures


@dataclass(frozen=True)
class PixelFlags:
    """How the pixel values of the pictures are read.

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
        full: With --json, print the long lists too: scores and positions.
        plot: Draw the focus curve, with the sharp picture and its neighbours, into this file (.png, .pdf,
            .svg).
        csv: Write a line for each answer into this file: for each stack, channel, time, position and --roi.
            Of several depths it has the one that was chosen.
        depths_csv: Write a line for each depth into this file, where a picture has several.
        overwrite: Replace files that are there already.
    """

    json: bool = False
    full: bool = False
    plot: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    depths_csv: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    overwrite: bool = False


@dataclass(frozen=True)
class Focus:
    """Say which picture of a stack is sharp and how sure that is, or why there is none.

    With --at, say where the lens must go from one look or a few: from a picture for each position, or from
    these slices of a whole stack.

    Exit code 0: focused. 1: uncertain (the best answer has more risk than --risk), or failed (there is
    nothing to answer); why, on stderr. 2: bad input.

    Attributes:
        stacks: A folder of numbered pictures (NAME_left and NAME_right are two views), pictures, a TIFF,
            .npy, .npz, film or microscope's file. Several stacks give a table.
        roi: Look only at this region, in pixels from the top left; may be given several times.
        subject: Which of several depths decides. For nearest and farthest the order of the slices must be
            known: by --order, or by their positions.
        method: A key of `dioptre methods`, or a network's file (.onnx). By default dioptre-vote; with --at
            dioptre-single-green (or -dp) for one look, dioptre-any-green (or -dp) for several.
        at: Where the lens was at each look, such as 20 or 10,25, in the unit of the positions; by default
            slices of the published data set, 0 (far) to 48.
        positions: Where each picture was focused: 0:0.5um (START:STEP), 0:5:245um (START:STEP:END), 1,2,3um,
            names:um for the numbers in file names (names, where these tell a unit or have decimals), a file
            with a number a line, or learnaf for the published 49. Without a unit they are the camera's, or
            dioptres; by default as a microscope's file or a recording tells.
        order: Which way a sweep runs, where its positions do not tell: near-first or far-first.
        camera: Camera of the pictures, for networks: a camera file (docs/data.md), pixel3, dslr-50mm,
            machine-vision-16mm or microscope-4x.
        risk: How many misses to accept: their share among all answers that are as sure. In a miss, nothing in
            the region is sharp. An answer with more risk is uncertain.
        prior: Where focus is expected: even, far (rooms, landscapes), weights from far to near such as 3,2,1,
            or a file of them; heeded by methods that give probabilities.
        output: What is printed and written.
        files: What is read from a file; by default each channel, time and position.
        pixels: What the numbers of the pictures are.
    """

    stacks: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STACK...")]
    roi: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="X,Y,W,H")] = ()
    subject: Annotated[str, tyro.conf.arg(metavar="centre|nearest|farthest|largest|most-confident")] = (
        "centre"
    )
    method: Annotated[str | None, tyro.conf.arg(metavar="KEY")] = None
    at: Annotated[str | None, tyro.conf.arg(metavar="POSITION,...")] = None
    positions: Annotated[str | None, tyro.conf.arg(metavar="POSITIONS")] = None
    order: Literal["near-first", "far-first"] | None = None
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
    _check_written(config.output)
    if config.output.full and not config.output.json:
        raise InputError("--full goes with --json")
    if config.method is not None:
        find_method(config.method)  # before reading a large stack in vain
    DepthPrior.parse(config.prior)  # likewise
    to_subject(config.subject)  # likewise
    regions = [parse_roi(text) for text in config.roi]
    at = None if config.at is None else parse_at(config.at)
    with naming_flags():
        stacks = _open(config, at is not None)
    answers: list[Answer] = []
    for pictures in stacks:
        with naming_flags(pictures.source):
            if at is not None:
                return _focus_looks(config, at, pictures, regions)
            answers += [Answer(pictures, one) for one in _focus_stack(config, pictures, regions)]
    if config.output.csv is not None:
        write_csv(config.output.csv, answers)
    if config.output.depths_csv is not None:
        write_depths_csv(config.output.depths_csv, answers)
    print_answers(answers, config.output.json, config.output.full)
    several = len(answers) > 1
    return max(print_state(one.result, config.risk, one.title if several else "") for one in answers)


def _check_written(output: OutputFlags) -> None:
    """Raises an error if files cannot be written: they are there already, or two are one."""
    flags = {"--plot": output.plot, "--csv": output.csv, "--depths-csv": output.depths_csv}
    seen: dict[Path, str] = {}
    for flag, written in flags.items():
        if written is not None:
            refuse_overwriting(written, output.overwrite)
            other = seen.setdefault(written.resolve(), flag)
            if other != flag:
                raise InputError(f"{other} and {flag} are both to be written to {written}")
    if output.plot is not None:
        from dioptre.cli.plotting import refuse_figure  # noqa: PLC0415

        refuse_figure(output.plot, output.overwrite)


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
    config: Focus, pictures: "Pictures", regions: list[tuple[int, int, int, int]]
) -> "list[FocusResult]":
    """Returns which picture of a whole stack is sharp, region by region, and plots it."""
    from dioptre.focusing.focus import DEFAULT_METHOD, focus  # noqa: PLC0415

    grid = read_flags(config.positions, config.camera, pictures)
    if grid is not None and config.positions is None and len(grid) != len(pictures):
        raise InputError(
            f"say where the pictures were taken, in {grid.unit} as {config.camera} counts: --positions"
        )
    if len(regions) > 1 and config.output.plot is not None:
        raise InputError(f"--plot takes one --roi, not {len(regions)}")
    with progress(f"focusing {pictures.title}", config.output.json) as moved:
        found: Any = focus(
            pictures,
            config.method or DEFAULT_METHOD,
            grid=grid,
            order=config.order,
            roi=regions if len(regions) > 1 else regions[0] if regions else None,
            subject=config.subject,
            black=config.pixels.black,
            white=config.pixels.white,
            prior=config.prior,
            risk=config.risk,
            gamma=config.pixels.gamma,
            progress=moved,
        )
    results = found if isinstance(found, list) else [found]
    if config.output.plot is not None:
        _plot(config.output.plot, pictures, results[0])
    return results


def _focus_looks(
    config: Focus,
    at: tuple[float, ...],
    pictures: "Pictures",
    regions: list[tuple[int, int, int, int]],
) -> int:
    """Prints where the lens must go from one look, or from several."""
    from dioptre.focusing.focus import focus_from  # noqa: PLC0415
    from dioptre.methods import find_method  # noqa: PLC0415
    from dioptre.methods.learned import Learned  # noqa: PLC0415

    output = config.output
    if len(regions) > 1 or any((output.plot, output.csv, output.depths_csv)):
        raise InputError("--at takes one --roi, and no --plot, --csv or --depths-csv")
    if config.order is not None:
        raise InputError("--order is of a whole stack, and not of looks (--at)")
    taken = _taken(config, pictures, len(at))
    chosen = _chosen_pictures(pictures, at, taken, config.camera)
    learned = config.method is None or isinstance(find_method(config.method).build(), Learned)
    gamma = config.pixels.gamma or ("srgb" if learned and pictures.display else "linear")
    result = focus_from(
        [(pictures.read(picture), position) for picture, position in zip(chosen, at, strict=True)],
        method=config.method,
        grid=_way(config.camera, taken),
        roi=regions[0] if regions else None,
        black=config.pixels.black,
        white=config.pixels.white,
        prior=config.prior,
        risk=config.risk,
        gamma=gamma,
    )
    if config.output.json:
        names = [pictures.names[picture] for picture in chosen]
        print_json({"stack": pictures.source, "names": names, **result.to_json(config.output.full)})
    else:
        print_look_result(pictures.source, pictures, result)
    return print_state(result, config.risk)


def _taken(config: Focus, pictures: "Pictures", looks: int) -> "FocusGrid | None":
    """Returns the grid of a stack's slices; of a picture for each look, the grid of the lens."""
    a_picture_each = len(pictures) == looks
    if config.positions is not None:
        return read_flags(config.positions, config.camera, pictures, way=a_picture_each)
    own = None if a_picture_each else read_flags(None, None, pictures)
    return None if own is None else read_flags(None, config.camera, pictures)


def _way(camera: str | None, taken: "FocusGrid | None") -> "CameraOptics | FocusGrid | None":
    """Returns the grid of the lens: its camera's whole range where that has the unit of the slices."""
    from dioptre.cameras.camera_files import describe  # noqa: PLC0415

    if camera is None:
        return taken
    optics = describe(camera)
    return optics if taken is None or taken.unit == optics.unit else taken


def _chosen_pictures(
    stack: "Pictures", at: tuple[float, ...], taken: "FocusGrid | None", camera: str | None
) -> list[int]:
    """Returns the indices of the pictures that were taken at these positions."""
    from dioptre.grid import FocusGrid  # noqa: PLC0415

    grid = FocusGrid.learnaf() if taken is None and camera is None else taken
    if grid is not None and len(grid) == len(stack):
        return [grid.index_of(position) for position in at]
    if len(stack) == len(at):
        return list(range(len(stack)))
    named = "1 position" if len(at) == 1 else f"{len(at)} positions"
    raise InputError(
        f"{stack.source} has {'1 picture' if len(stack) == 1 else f'{len(stack)} pictures'}, but --at names "
        f"{named}: give a picture for each, or the position of every picture (--positions)"
    )


def parse_at(text: str) -> tuple[float, ...]:
    """Returns the numbers of `x` or `x,x,...`."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--at takes a position of the lens, or several such as 10,25, not {text!r}"
        ) from None


def parse_roi(text: str) -> tuple[int, int, int, int]:
    """Returns the four whole numbers of `x,y,w,h`."""
    try:
        x, y, w, h = (int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--roi takes x,y,w,h in whole pixels, such as 100,80,128,128, not {text!r}"
        ) from None
    return x, y, w, h


def _plot(path: Path, pictures: "Pictures", result: "FocusResult") -> None:
    from dioptre.cli.plotting import save_figure  # noqa: PLC0415
    from dioptre.evaluate.focus_figure import focus_figure  # noqa: PLC0415

    title = (
        f"{Path(pictures.source).name}: {result.state.value}, confidence {result.confidence:.2f}"
        + "".join(f", {reason.value}" for reason in result.reasons)
    )
    save_figure(focus_figure(result, one_line(title), [one_line(name) for name in pictures.names]), path)
