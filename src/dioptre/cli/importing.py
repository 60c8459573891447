"""`dioptre import`: a store of labelled patches from the published data set, or from own captures."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from dioptre.cli.console import DONE, print_json, progress
from dioptre.cli.streams import one_line
from dioptre.errors import InputError
from dioptre.pipeline.settings import Import, Workers


@dataclass(frozen=True)
class ImportCaptures:
    """Write a store of labelled patches from captures on disk (docs/data.md).

    SRC is the published data set: its root, one of its folders trainN or test, an archive, or a folder of
    archives, which are not unpacked. Or it is a folder of own captures with a capture.toml each. A run that
    was stopped goes on where it was.

    Attributes:
        source: What to import; with --check, the store to check.
        out: Folder of the store.
        settings: How to import.
        workers: Who does it (as many captures, or frames of archives, are decoded at a time).
        check: Do not import: tell whether units, order and axes of the store SRC are right. Exit code 2 if
            something is not.
        max_gigabytes: How much memory what a file holds may take; half of the machine's by default.
        json: Print the summary as JSON.
    """

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SRC")]
    settings: Annotated[Import, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]
    out: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")] = None
    check: bool = False
    max_gigabytes: Annotated[float | None, tyro.conf.arg(metavar="GB")] = None
    json: bool = False


def run_import(config: ImportCaptures) -> int:
    """Writes a store of labelled patches, or checks one."""
    from dioptre.resources import set_limit  # noqa: PLC0415

    set_limit(config.max_gigabytes)
    if config.check:
        return _check(config)
    if config.out is None:
        raise InputError("import needs a source and a folder for the store: dioptre import SRC OUT")
    from dioptre.pipeline.cluster import open_executor, shared_path  # noqa: PLC0415
    from dioptre.pipeline.importing import import_captures  # noqa: PLC0415
    from dioptre.resources import workers  # noqa: PLC0415

    threads = config.workers.workers or workers()
    source, out = (shared_path(path, config.workers) for path in (config.source, config.out))
    settings = config.settings
    if settings.maps:
        settings = replace(settings, maps=str(shared_path(Path(settings.maps), config.workers)))
    with progress("importing", quiet=config.json) as moved, open_executor(config.workers) as executor:
        summary = import_captures(source, out, settings, executor, moved, threads)
    if config.json:
        print_json(summary, indent=2)
    else:
        _print_summary(summary, config.out)
    return DONE


def _check(config: ImportCaptures) -> int:
    if config.out is not None:
        raise InputError(f"--check takes one store, not {config.source} and {config.out}")
    from dioptre.cli.store_sanity import run_check  # noqa: PLC0415

    return run_check(config.source, config.json)


def _print_summary(summary: Mapping[str, Any], out: Path) -> None:
    """Prints how much was kept to stdout, what is wrong to stderr."""
    for split, found in summary["splits"].items():
        paper = f"; the paper kept {found['paper']:.0%}" if found["paper"] else ""
        sys.stdout.write(
            f"{split}: {found['kept']} of {found['patches']} patches kept ({found['fraction']:.1%}{paper}), "
            f"captures: {found['captures']}\n"
        )
    kept = sum(found["kept"] for found in summary["splits"].values())
    sys.stdout.write(f"wrote {kept} patches to {out}\n")
    for one in summary["skipped"]:
        sys.stderr.write(f"left out: {one_line(one['reason'])}\n")
    if summary["without_patches"]:
        names = ", ".join(summary["without_patches"])
        sys.stderr.write(f"no patch with enough confidence: {one_line(names)}\n")
    for warning in summary["warnings"]:
        sys.stderr.write(f"warning: {one_line(warning)}\n")
