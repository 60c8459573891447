"""The self-check of a store on the terminal, for `dioptre import --check`."""

from pathlib import Path
from typing import TYPE_CHECKING

from dioptre.cli.console import BAD_INPUT, DONE, open_console, print_json, progress

if TYPE_CHECKING:
    from dioptre.pipeline.store_sanity import StoreCheck

WORST = 10  # captures that are listed
BARS = " ▁▂▃▄▅▆▇█"


def run_check(path: Path, as_json: bool) -> int:
    """Prints the self-check of a store; what is wrong goes to stderr, and the exit code is 2 then.

    Args:
        path: The store.
        as_json: Whether to print JSON and nothing else.
    """
    from dioptre.pipeline.store_sanity import check  # noqa: PLC0415

    with progress("checking", quiet=as_json) as moved:
        report = check(path, done=moved)
    if as_json:
        print_json(report.to_json(), indent=2)
    else:
        _print(report)
    stderr = open_console(stderr=True)
    for flag in report.flags:
        stderr.print(flag, style="red", markup=False, soft_wrap=True)
    return BAD_INPUT if report.flags else DONE


def _print(report: "StoreCheck") -> None:
    from rich.table import Table  # noqa: PLC0415

    console = open_console()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in describe(report):
        table.add_row(name, value)
    console.print(table)
    _print_worst(report)
    if not report.flags:
        console.print("nothing is wrong")


def describe(report: "StoreCheck") -> list[tuple[str, str]]:
    """Returns the names and values of what a self-check saw, in words."""
    rows = [
        ("patches", f"{report.sampled} of {report.patches} looked at, in {len(report.captures)} captures"),
        ("peak - label", f"{report.bias:+.1f} indices in the middle, deviation {report.spread:.1f}"),
        ("peak by label", f"slope {report.slope:.2f}, correlation {report.correlation:.2f}"),
        ("labels", f"{histogram(report.histogram)} up to {max(report.histogram)}"),
    ]
    for split, (fraction, paper) in report.kept.items():
        rows.append((f"kept, {split}", f"{fraction:.1%}" + (f", the paper {paper:.0%}" if paper else "")))
    rows += [
        (
            "black",
            f"{report.black:g}; darkest seen {report.darkest:.0f}, {report.clipped:.1%} not above black",
        ),
        ("white", f"{report.white:g}; largest seen {report.largest:.0f}, {report.levels} levels"),
    ]
    if report.disparity_cols is not None:
        along = f"{report.disparity_cols:+.3f} along columns, {report.disparity_rows:+.3f} along rows"
        rows.append(("disparity", f"{along}, pixels an index"))
    return rows


def histogram(counts: tuple[int, ...]) -> str:
    """Returns counts as one line of bars, a blank for none."""
    top = max(counts) or 1
    return "".join(BARS[-(-count * (len(BARS) - 1) // top)] for count in counts)


def _print_worst(report: "StoreCheck") -> None:
    """Prints the captures whose peaks are farthest from their labels, of those with several patches."""
    from rich.table import Table  # noqa: PLC0415

    several = [capture for capture in report.captures if capture.patches > 1]
    if not several:
        return
    table = Table("capture", "patches", "bias", "deviation", title="farthest from their labels", box=None)
    for one in sorted(several, key=lambda capture: -abs(capture.bias))[:WORST]:
        table.add_row(one.capture, str(one.patches), f"{one.bias:+.1f}", f"{one.spread:.1f}")
    open_console().print(table)
