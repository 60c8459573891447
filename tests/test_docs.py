"""The map of the paper, and the other pages, name only what is there."""

import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from dioptre.cli import COMMANDS
from dioptre.cli.flags import flag_groups

pytest.importorskip("pyarrow")  # names of the rooms that need it are looked up

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if page.name != "log.md"]  # which keeps its history
ROOMS = {path.stem for path in (ROOT / "src" / "dioptre").iterdir()} - {"__init__", "__pycache__", "weights"}
SPAN = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"^(?:dioptre\.)?([a-z_]+(?:\.[A-Za-z_][A-Za-z_0-9]*)+)(?:\(.*\))?$")
TEST = re.compile(r"^(tests/[\w/]+\.py)?(?:::)?(test_\w+)?(?:\[.*\])?$")
NEEDS_TORCH = find_spec("torch") is None


def spans(page: Path) -> list[str]:
    return SPAN.findall(page.read_text(encoding="utf-8"))


def dotted_names(page: Path) -> set[str]:
    found = (DOTTED.match(span) for span in spans(page))
    names = {match[1] for match in found if match}
    return {
        name
        for name in names
        if name.split(".")[0] in ROOMS and not name.endswith((".json", ".npy", ".py", ".toml"))
    }


def exists(name: str) -> bool:
    """Returns whether a module, or something in one, has this name below dioptre."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = f"dioptre.{'.'.join(parts[:cut])}"
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        return _has(thing, parts[cut:])
    return False


def _has(thing: object, parts: list[str]) -> bool:
    """Returns whether a thing has an attribute, that one the next, and so on; a field of a value is one."""
    for part in parts:
        if part in getattr(thing, "__dataclass_fields__", {}):
            return True
        if not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True


def names_of(page: Path) -> list[str]:
    skipped = ("train",) if NEEDS_TORCH else ()
    return sorted(name for name in dotted_names(page) if name.split(".")[0] not in skipped)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_what_there_is(page: Path) -> None:
    assert [name for name in names_of(page) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_tests_that_there_are(page: Path) -> None:
    missing, file = [], None
    for span in spans(page):
        match = TEST.match(span)
        if match is None or not (match[1] or match[2]):
            continue
        file = ROOT / match[1] if match[1] else file
        if file is None or not file.is_file() or (match[2] and f"def {match[2]}(" not in file.read_text()):
            missing.append(span)
    assert missing == []


LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reference_has_every_command() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## dioptre (\S+)$", page, re.MULTILINE)) == set(COMMANDS)


COMMAND = re.compile(r"^(?:\$ |`)?dioptre ([a-z]\w*)(.*)$")
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OTHERS_FLAGS = {"--version", "--constraint", "--group"}  # of the program itself, and of pip


def flags_of(command: str) -> set[str]:
    config, _ = COMMANDS[command].load()
    return {flag.name for group in flag_groups(config).values() for flag in group if flag.name} | {"--help"}


def written(page: Path) -> list[str]:
    """Returns what a page shows as typed: spans, and the lines of its blocks without what is said of them."""
    text = page.read_text(encoding="utf-8")
    blocks = [block.replace("\\\n", " ") for block in BLOCK.findall(text)]
    lines = [line.partition(" # ")[0].strip() for block in blocks for line in block.splitlines()]
    return [*lines, *SPAN.findall(BLOCK.sub("", text))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_its_flags_exist(page: Path) -> None:
    wrong = []
    for line in written(page):
        found = COMMAND.match(line)
        if found and found[1] not in COMMANDS:
            wrong.append(line)
        elif found:
            wrong += [f"{line}: {flag}" for flag in FLAG.findall(found[2]) if flag not in flags_of(found[1])]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_flag_that_is_named_alone_is_one_of_some_command_or_script(page: Path) -> None:
    scripts = set().union(*(FLAG.findall(path.read_text()) for path in (ROOT / "lab").rglob("*.py")))
    known = scripts.union(OTHERS_FLAGS, *(flags_of(command) for command in COMMANDS))
    alone = [span for span in SPAN.findall(BLOCK.sub("", page.read_text())) if span.startswith("--")]
    assert [span for span in alone if not set(FLAG.findall(span)) <= known] == []


PLACE = re.compile(r"^(?:src|tests|docs|lab|\.ci)/[\w./-]+$")
LAB = re.compile(r"python -m (lab(?:\.\w+)+)")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_script_and_target_of_ours_exists(page: Path) -> None:
    wrong = []
    for line in written(page):
        places = [line] if PLACE.match(line) else []
        places += [name.replace(".", "/") for name in LAB.findall(line) if name != "lab.NAME"]
        wrong += [
            place for place in places if not (ROOT / place).exists() and not (ROOT / f"{place}.py").exists()
        ]
        made = re.match(r"^(?:\$ )?make ([a-z-]+)$", line)
        wrong += [line] if made and made[1] not in TARGETS else []
    assert wrong == []
