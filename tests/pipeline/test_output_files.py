"""The list of files that a report wrote: a stranger's list touches nothing outside of it."""

import hashlib
import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.errors import FileError
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.verifying import verify


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_all(tmp_path / "out", "report", {"a.txt": b"a", "figures/b.svg": b"b"}, {}, overwrite=False)
    return tmp_path / "out"


def put(out: Path, files: object) -> None:
    manifest = out / "manifest.json"
    entries = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**entries, "files": files}))


@pytest.mark.parametrize(
    "name", ["../thesis.txt", "figures/../../thesis.txt", "/thesis.txt", "a\\..\\thesis.txt"]
)
def test_a_list_that_leads_out_of_the_folder_is_refused(out: Path, name: str) -> None:
    thesis = out.parent / "thesis.txt"
    thesis.write_text("my thesis")
    put(out, {name: [hashlib.sha256(b"my thesis").hexdigest()]})
    with pytest.raises(FileError, match=r"manifest\.json does not describe a report: its entry files is"):
        write_all(out, "report", {"a.txt": b"new"}, {}, overwrite=False)
    assert thesis.read_text() == "my thesis"
    assert (out / "a.txt").read_bytes() == b"a"


@pytest.mark.parametrize("files", [None, [], "x", {"a.txt": "x"}, {"a.txt": [1]}, {"a.txt": []}, {"": []}])
def test_a_list_that_is_none_is_refused(out: Path, files: object) -> None:
    put(out, files)
    with pytest.raises(FileError, match=r"its entry files is"):
        write_all(out, "report", {"a.txt": b"new"}, {}, overwrite=False)


def test_a_report_is_verified(out: Path) -> None:
    found = verify(out, lambda _done, _total: None)
    assert (found.kind, found.parts, found.faults) == ("a report", 2, ())
    (out / "figures" / "b.svg").write_bytes(b"c")
    (fault,) = verify(out, lambda _done, _total: None).faults
    assert "b.svg has changed since it was written" in fault
