"""Archives of the published data set."""

import tarfile
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.errors import ArchiveError
from dioptre.store.published.archives import list_archives, read_archive
from tests.store.published_tree import write_archive, write_capture


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    part = tmp_path_factory.mktemp("set") / "train1"
    write_capture(part, "apt1_0", ("raw", "up"), slices=(0, 2, 10))
    write_capture(part, "apt1_0", ("up",), camera="left", slices=(1,))
    return part


def test_an_archive_holds_what_the_tree_holds(part: Path, tmp_path: Path) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    assert list_archives(tmp_path) == list_archives(archive) == [archive]
    positions: list[int] = []
    found = {
        name.partition(":")[2]: read()
        for item, name, read in read_archive(archive, lambda item: item.camera == "center", positions.append)
    }
    expected = {
        str(path.relative_to(part.parent)): path.read_bytes()
        for path in part.rglob("*_center.*")
        if path.suffix != ".jpg"
    }
    assert found == expected
    assert positions == sorted(positions)
    assert positions[-1] == archive.stat().st_size


def test_the_part_of_an_archive_without_folders_is_its_name(part: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "train5.tar", "w") as tar:
        tar.add(part / "merged_depth", arcname="merged_depth")
    items = [item for item, _, _ in read_archive(tmp_path / "train5.tar", lambda _: True, lambda _: None)]
    assert {item.part for item in items} == {"train5"}


@pytest.mark.parametrize("left", [0.02, 0.5, 0.999])
def test_a_truncated_archive_is_named(part: Path, tmp_path: Path, left: float) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    data = archive.read_bytes()
    archive.write_bytes(data[: int(left * len(data))])
    with pytest.raises(ArchiveError, match=r"train1\.tar\.gz is damaged or cut short"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]


def test_a_damaged_archive_is_named(part: Path, tmp_path: Path) -> None:
    archive = write_archive(part, tmp_path / "train1.tar.gz")
    data = bytearray(archive.read_bytes())
    data[-6] ^= 1  # in the checksum
    archive.write_bytes(bytes(data))
    with pytest.raises(ArchiveError, match="damaged"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]
    archive.write_bytes(b"nonsense" * 200)
    with pytest.raises(ArchiveError, match="damaged"):
        [read() for _, _, read in read_archive(archive, lambda _: True, lambda _: None)]


def test_an_archive_with_an_impossible_header_is_named(tmp_path: Path) -> None:
    record = "24 GNU.sparse.map=1,nul\n"  # tarfile raises a plain ValueError
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.XHDTYPE, len(record)
    file = tarfile.TarInfo("train1/merged_depth/apt1_0/result_merged_depth_center.png")
    data = header.tobuf(tarfile.USTAR_FORMAT) + record.encode().ljust(512, b"\0") + file.tobuf()
    (tmp_path / "train1.tar").write_bytes(data.ljust(10240, b"\0"))
    with pytest.raises(ArchiveError, match=r"train1\.tar is damaged or cut short"):
        list(read_archive(tmp_path / "train1.tar", lambda _: True, lambda _: None))


def test_what_the_caller_raises_is_no_damage(part: Path, tmp_path: Path) -> None:
    def moved(_: int) -> None:
        raise ValueError("a fault of the caller")

    archive = write_archive(part, tmp_path / "train1.tar.gz")
    with pytest.raises(ValueError, match="a fault of the caller") as caught:
        list(read_archive(archive, lambda _: True, moved))
    assert not isinstance(caught.value, ArchiveError)
