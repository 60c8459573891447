"""What the command line says of itself, and of words that it does not know."""

import re
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
import tyro

from dioptre.cli import COMMANDS, main
from dioptre.cli.commands import GROUPS
from dioptre.cli.console import BAD_INPUT, DONE
from dioptre.cli.flags import Flag, flag_groups
from tests.cli.command_line import refused


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == DONE
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def flags_of(name: str) -> list[Flag]:
    config, _ = COMMANDS[name].load()
    return [flag for group in flag_groups(config).values() for flag in group]


def test_help_is_one_screen_that_names_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "--help").splitlines()
    assert len(lines) <= 40
    assert max(len(line) for line in lines) <= 80
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named == list(COMMANDS)
    assert len(COMMANDS) == sum(len(group) for group in GROUPS.values())
    assert said(capsys, "-h").splitlines() == lines


def test_without_a_command_the_help_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == BAD_INPUT
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == said(capsys, "--help")


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, dioptre.cli; dioptre.cli.main(['--help']); "
        "heavy = {'numpy', 'pyarrow', 'rich', 'numba', 'torch', 'tyro'}; "
        "sys.stderr.write(repr(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr == "set()"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_frozen_dataclass_of_its_own(name: str) -> None:
    config, run = COMMANDS[name].load()
    assert is_dataclass(config)
    assert config.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert callable(run)
    assert [other for other in COMMANDS if COMMANDS[other].load()[0] is config] == [name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, name, "--help")
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.startswith(f"usage: dioptre {name} ")
    assert "None" not in text
    config, _ = COMMANDS[name].load()
    assert config.__doc__
    assert config.__doc__.split("\n")[0][:40] in text
    assert said(capsys, name, "-h") == text
    assert all(f"  {flag.usage}" in text for flag in flags_of(name))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_flags_of_the_help_are_those_that_are_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    config, _ = COMMANDS[name].load()
    with pytest.raises(SystemExit):
        tyro.cli(config, args=["--help"], config=(tyro.conf.FlagCreatePairsOff,))
    read = re.findall(r"^[│ ] (--[a-z][a-z0-9-]*)", capsys.readouterr().out, re.MULTILINE)
    assert sorted(flag.name for flag in flags_of(name) if flag.name) == sorted(read)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_every_group_of_flags(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    config, _ = COMMANDS[name].load()
    kinds = [config, *filter(is_dataclass, get_type_hints(config).values())]
    section = page.split(f"## dioptre {name}\n")[1].split("\n## ")[0]
    assert re.findall(r"^::: (\S+)$", section, re.MULTILINE) == [
        f"{kind.__module__}.{kind.__qualname__}" for kind in kinds
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["focsu"], "there is no command 'focsu'; did you mean 'focus'?"),
        (["xyzzy"], "there is no command 'xyzzy': 'dioptre --help' lists them"),
        (["--json"], "there is no command '--json': 'dioptre --help' lists them"),
        (["focus", "a", "--mehtod", "x"], "focus has no flag '--mehtod'; did you mean '--method'?"),
        (["map", "a", "b", "--sise=3"], "map has no flag '--sise'; did you mean '--size'?"),
        (["focus", "a", "--xyzzy"], "focus has no flag '--xyzzy': 'dioptre focus --help' lists them"),
        (["run"], "run needs --device DEVICE (dioptre run --help)"),
        (["focus", "a", "--rio", "x"], "focus has no flag '--rio'; did you mean '--roi'?"),
        (["run", "--devcie", "x"], "run has no flag '--devcie'; did you mean '--device'?"),
        (["map"], "map needs STACK OUT (dioptre map --help)"),
        (["verify", "a", "b"], "verify does not know what to do with 'b' (dioptre verify --help)"),
    ],
)
def test_what_is_misspelt_gets_a_suggestion(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *words) == f"dioptre: {sentence}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["focus", "a", "--risk", "often"], "--risk takes PROBABILITY, not 'often'"),
        (["focus", "a", "--risk"], "--risk takes PROBABILITY"),
        (["focus", "a", "--time", "noon"], "--time takes N, not 'noon'"),
        (["simulate", "a", "--light", "drak"], "--light takes mixed|normal|dark|both, not 'drak'"),
        (["focus", "a", "--gamma", "None"], "--gamma takes srgb|linear, not 'None'"),
        (["train", "a", "b", "--problem", "D2"], "--problem takes I*|D*|I1|D1, not 'D2'"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_line(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *words) == f"dioptre: {sentence} (dioptre {words[0]} --help)\n"


def test_a_terminal_is_told_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    off = refused(capsys, "focus", "a", "--risk", "often")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert refused(capsys, "focus", "a", "--risk", "often") == off


def test_a_path_that_looks_like_a_flag_comes_after_two_hyphens(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    assert "--help" in refused(capsys, "verify", "--", "--help")
