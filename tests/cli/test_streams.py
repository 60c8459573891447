"""What reaches a terminal: no letter that it would obey, none that it has not, and never a traceback."""

import csv
import json
import os
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from scipy.ndimage import gaussian_filter

from dioptre.cli import main
from dioptre.cli.console import FOCUSED
from dioptre.cli.streams import PlainStream, escaped, lettered, one_line

RED = "\x1b[31m"
PLACES = ("stdout", "stderr")


def sweep(n: int = 9, sharp: int = 4) -> np.ndarray:
    """Texture that is sharp at one slice."""
    noise = np.random.default_rng(0).uniform(20, 230, (96, 96))
    return np.stack([gaussian_filter(noise, 0.3 + 0.6 * abs(at - sharp)) for at in range(n)]).astype(np.uint8)


def write_sweep(folder: Path, name: str = "f{}.png") -> Path:
    folder.mkdir()
    for at, picture in enumerate(sweep()):
        (folder / name.format(at)).write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    return folder


def command(*words: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "dioptre", *words],
        env=os.environ | environment,
        capture_output=True,
        check=False,
    )


def test_letters_that_a_terminal_obeys_are_escaped() -> None:
    assert escaped(f"a{RED}\nb\tc") == "a\\x1b[31m\nb\tc"
    assert one_line("a\nb\u202ec\udcff") == "a\\nb\\u202ec\\udcff"
    assert one_line("5 µm ▃") == "5 µm ▃"


def test_letters_that_an_encoding_lacks_are_plain() -> None:
    assert lettered("▁▂▃▄▅▆▇█ 3 µm", "ascii") == "_.-=+*#@ 3 um"
    assert lettered("3 µm × 日", "cp1252") == "3 µm × \\u65e5"
    assert lettered("日 \udcff", None) == "日 \\udcff"


def test_a_stream_takes_any_text() -> None:
    written = BytesIO()
    stream = PlainStream(TextIOWrapper(written, "cp1252"), heard=True)
    stream.write(f"█ \udcff {RED}\n")
    stream.letters.write(RED)
    stream.flush()
    assert written.getvalue() == b"@ \\udcff \\x1b[31m" + os.linesep.encode() + RED.encode()


def test_what_is_said_beside_may_go_unheard() -> None:
    class Broken(StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    assert PlainStream(Broken(), heard=False).write("note\n") == 5
    with pytest.raises(BrokenPipeError):
        PlainStream(Broken(), heard=True).write("note\n")


@pytest.mark.parametrize("columns", ["80", "0", "-1", "x"])
def test_names_of_files_and_channels_move_nothing(
    tmp_path: Path, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    folder = write_sweep(tmp_path / f"evil{RED}", f"z{{}}{RED}.png")
    write_sweep(tmp_path / f"more{RED}", f"z{{}}{RED}.png")
    (folder / f"stray{RED}.png").write_bytes((folder / f"z0{RED}.png").read_bytes())
    channels = np.stack([sweep(), sweep()], axis=1)
    told = {"axes": "ZCYX", "Channel": {"Name": [f"DAPI{RED}", f"GFP{RED}"]}}
    tifffile.imwrite(tmp_path / "c.ome.tif", channels, metadata=told, photometric="minisblack")
    others = [tmp_path / "c.ome.tif", tmp_path / f"more{RED}"]
    for words in ([folder], others, [folder, "--channel", "x"], [tmp_path / f"none{RED}"]):
        assert main(["focus", *map(str, words)]) in (0, 1, 2)
        out, err = capsys.readouterr()
        assert RED not in out
        assert RED not in err
        assert "\\x1b" in out + err


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
)
def test_terminals_without_block_characters_get_others(tmp_path: Path, environment: dict[str, str]) -> None:
    said = command("focus", str(write_sweep(tmp_path / "s")), **environment)
    assert said.returncode == FOCUSED, said.stderr
    assert b"f4.png" in said.stdout
    assert b"@" in said.stdout  # the top of the curve


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_that_are_no_utf8_are_written_all_the_same(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path / "caf\udce9", "\udcff${}.png")
    path = str(folder)
    table, figure = tmp_path / "a.csv", tmp_path / "a.png"
    plot = ["--plot", str(figure)] if _has("matplotlib") else []
    said = command("focus", path, "--csv", str(table), *plot)
    assert said.returncode == FOCUSED, said.stderr
    (row,) = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    assert row["name"] == "\\udcff$4.png"
    assert figure.exists() == bool(plot)
    assert json.loads(command("focus", path, "--json").stdout)["name"] == "\udcff$4.png"
    assert command("map", path, str(tmp_path / "map"), "--size", "32").returncode == 0


def _has(library: str) -> bool:
    try:
        __import__(library)
    except ImportError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams as a shell does")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"), [("focus {}", 0), ("focus none", 2), ("--help", 0), ("verify none", 2)]
)
def test_closed_streams_are_no_fault(tmp_path: Path, closed: str, words: str, code: int) -> None:
    folder = write_sweep(tmp_path / "s")
    line = f'"{sys.executable}" -m dioptre {words.format(folder)} {closed}'
    said = subprocess.run(["/bin/sh", "-c", line], capture_output=True, cwd=tmp_path, check=False)
    assert said.returncode == code
    assert b"Traceback" not in said.stdout + said.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes as a shell has them")
def test_nobody_need_read_what_is_said_beside(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        said = subprocess.run(
            [sys.executable, "-m", "dioptre", "focus", "none"],
            stdout=subprocess.PIPE, stderr=pipe, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert (said.returncode, said.stdout) == (2, b"")
