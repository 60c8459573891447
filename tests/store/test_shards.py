"""Shards: a shard is complete once its rows are there, and what changes it takes them away."""

import hashlib
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from dioptre.errors import FileError
from dioptre.store.shards import ShardWriter, map_codes, verify_file

TABLE = pa.table({"truth": [1, 2]})


@pytest.fixture
def writer(tmp_path: Path) -> ShardWriter:
    writer = ShardWriter(tmp_path / "store", "parts", ("codes", "json"), {"kind": "parts"})
    writer.begin()
    return writer


def test_codes_come_back_with_their_hash(writer: ShardWriter) -> None:
    sha256 = writer.write_codes("a", (b"head", memoryview(b"codes")))
    assert writer.codes_file("a").read_bytes() == b"headcodes"
    assert sha256 == hashlib.sha256(b"headcodes").hexdigest()
    verify_file(writer.codes_file("a"), sha256)


def test_codes_can_be_appended_and_cut(writer: ShardWriter) -> None:
    writer.append_codes("a", 0, b"first")
    writer.append_codes("a", 5, b"second, cut short")
    writer.append_codes("a", 5, b"second")
    assert writer.codes_file("a").read_bytes() == b"firstsecond"
    assert writer.cut_codes("a", 5) == hashlib.sha256(b"first").hexdigest()


def test_new_codes_take_the_rows_away(writer: ShardWriter) -> None:
    for change in (lambda: writer.write_codes("a", (b"x",)), lambda: writer.append_codes("a", 0, b"x")):
        writer.write_rows("a", TABLE)
        assert writer.has_rows("a")
        change()
        assert not writer.has_rows("a")


def test_a_shard_is_there_as_long_as_it_has_a_file(writer: ShardWriter) -> None:
    writer.write_codes("b.2", (b"x",))
    writer.write_rows("a", TABLE)
    writer.file("c", "json").write_text("{}")
    writer.file("d", "json.0123.dioptre-partial").write_text("{")
    assert writer.names() == ["a", "b.2", "c"]
    for name in writer.names():
        writer.drop(name)
    assert writer.names() == []


def test_a_finished_store_says_how_many_rows_it_has(writer: ShardWriter) -> None:
    writer.write_codes("stale", (b"x",))
    writer.finish(
        {"a": TABLE, "b": TABLE}, {"parts": 2}, lambda manifest: [str(manifest["parts"])], [], ["stale"]
    )
    assert (writer.path / "manifest.json").is_file()
    assert writer.names() == []
    with pytest.raises(FileError, match="finished already"):
        writer.begin()


def test_a_file_of_another_size_is_not_mapped(tmp_path: Path) -> None:
    (tmp_path / "a.codes").write_bytes(b"12345")
    assert bytes(map_codes(tmp_path / "a.codes", "part", "its list", lambda _: 5)) == b"12345"
    with pytest.raises(FileError, match=r"the part .*a\.codes .* has 5 bytes, but its list promises 6"):
        map_codes(tmp_path / "a.codes", "part", "its list", lambda _: 6)
    with pytest.raises(FileError, match=r"gone\.codes cannot be read"):
        map_codes(tmp_path / "gone.codes", "part", "its list", lambda _: 6)
