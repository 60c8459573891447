"""What the command line leaves with: each exit code has one meaning."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from dioptre.cli import main, methods
from dioptre.cli.console import BAD_INPUT, DONE, FAULT, NO_READER, STOPPED
from dioptre.cli.interrupts import interrupted, remember_interrupts
from dioptre.cli.methods import Methods
from dioptre.errors import DioptreError, MissingExtraError


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Returns a function that lets `dioptre methods` fail with an exception."""

    def fail_with(error: BaseException) -> None:
        def run(config: Methods) -> int:
            raise error

        monkeypatch.setattr(methods, "run_methods", run)

    return fail_with


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DioptreError("a grid has positions, not 7"), "dioptre: a grid has positions, not 7\n"),
        (MissingExtraError("get 'dioptre[train]'"), "dioptre: get 'dioptre[train]'\n"),
        (FileNotFoundError(2, "No such file", "a.png"), "dioptre: a.png: No such file\n"),
        (OSError("the disk is full"), "dioptre: the disk is full\n"),
    ],
)
def test_what_its_user_can_mend_is_one_sentence(
    error: Exception, said: str, failing, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(error)
    assert main(["methods"]) == BAD_INPUT
    assert capsys.readouterr() == ("", said)


def test_ctrl_c_is_said(failing, capsys: pytest.CaptureFixture[str]) -> None:
    failing(KeyboardInterrupt())
    assert main(["methods"]) == STOPPED
    assert capsys.readouterr() == ("", "dioptre: stopped\n")


def test_ctrl_c_that_a_library_makes_another_error_of_is_said_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(config: Methods) -> int:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:  # as in a callback of C
            raise ValueError("Invalid affine transformation matrix") from None
        return DONE

    monkeypatch.setattr(methods, "run_methods", run)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with remember_interrupts():
            assert main(["methods"]) == STOPPED
        with remember_interrupts():
            assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("", "dioptre: stopped\n")


@pytest.mark.parametrize("error", [ValueError("shapes differ"), KeyError("x"), ImportError("no numpy")])
def test_a_fault_of_our_own_has_its_traceback_and_asks_for_a_report(
    error: Exception, failing, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(error)
    assert main(["methods"]) == FAULT
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" in said.err
    assert type(error).__name__ in said.err
    assert said.err.splitlines()[-1] == (
        "dioptre: this is a fault in dioptre; please report it with the lines above"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["methods"], ["methods", "--json"], ["--version"]])
def test_output_that_nobody_reads_ends_quietly(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "dioptre", *arguments], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (ended.returncode, ended.stderr) == (NO_READER, b"")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="sends a signal to a group of processes")
def test_ctrl_c_stops_all_processes_at_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "dioptre", "simulate", str(tmp_path / "out")]
    run = subprocess.Popen(
        [*command, "--patches", "500", "--workers", "2"],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # scripts ignore it
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "out" / "writing.json").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(2)
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=10)
    finally:
        run.kill()
        run.wait()
    assert run.returncode in (STOPPED, -signal.SIGINT)  # a shell says 130 of either
    assert said == "dioptre: stopped\n"
    assert not (tmp_path / "out" / "manifest.json").exists()
