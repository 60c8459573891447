"""Commands as tests run them."""

import json

import pytest

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out, parse_constant=_refuse)


def _refuse(word: str) -> None:
    pytest.fail(f"JSON has no word {word}")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("dioptre: ")
    assert said.err.count("\n") == 1
    return said.err
