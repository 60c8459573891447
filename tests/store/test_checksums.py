from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.errors import FileError
from dioptre.grid import FocusGrid
from dioptre.store.checksums import PAGE, WEIGHTS, WORDS, page_sums, sums_of_file
from dioptre.store.patches import StoreFormat, StoreWriter, open_patches

FORM = StoreFormat(FocusGrid.uniform(10.0, 0.1, 5), size=32, views=2, black=0.0, white=4095.0)
ROW = {"scene": "a", "capture": "c", "split": "test", "row": 0, "col": 0, "truth": 0, "where_x": 0.0}


def write_store(path: Path, patches: int = 8) -> Path:
    writer = StoreWriter(path, FORM, {}, total=patches, shard_size=4)
    rng = np.random.default_rng(0)
    for number in writer.missing_shards():
        count = len(writer.patches(number))
        codes = rng.integers(0, 4096, (count, *FORM.patch_shape), dtype=np.uint16)
        writer.write_shard(number, codes, [ROW | {"where_y": 0.0}] * count)
    writer.finish()
    return path


def change(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_a_sum_is_that_of_the_words_times_odd_weights() -> None:
    data = np.random.default_rng(0).bytes(2 * PAGE + 20)
    slow = []
    for begin in range(0, len(data), PAGE):
        page = data[begin : begin + PAGE].ljust(PAGE, b"\0")
        words = [int.from_bytes(page[8 * k : 8 * k + 8], "little") for k in range(WORDS)]
        slow.append(sum(word * int(weight) for word, weight in zip(words, WEIGHTS, strict=True)) % 2**64)
    assert page_sums(data).tolist() == slow
    assert all(int(weight) % 2 for weight in WEIGHTS)
    assert page_sums(b"").size == 0


def test_sums_of_a_file_are_those_of_its_bytes(tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(PAGE * 1025 + 7)
    (tmp_path / "a").write_bytes(data)
    assert (sums_of_file(tmp_path / "a") == page_sums(data)).all()


@pytest.mark.parametrize("at", [-1, -20_000, 200])
def test_a_changed_bit_is_noticed_by_who_reads_it_and_by_nobody_else(tmp_path: Path, at: int) -> None:
    store = write_store(tmp_path / "store")
    change(store / "shards" / "00001.npy", at)
    opened = open_patches(store)
    opened.stack(np.arange(4))  # the other shard
    with pytest.raises(FileError, match=r"00001\.npy has changed .*: the checksum of bytes"):
        opened.stack(np.arange(4, 8))
    patch_bytes = int(np.prod(FORM.patch_shape)) * 2
    offset = at - 128 if at > 0 else 4 * patch_bytes + at  # in the codes
    patch, slice_ = 4 + offset // patch_bytes, offset % patch_bytes // (patch_bytes // 5)
    with pytest.raises(FileError, match=r"has changed"):
        open_patches(store).stack([patch], [slice_])


def test_what_was_read_once_is_not_checked_again(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store")
    opened = open_patches(store)
    opened.stack(np.arange(4))
    change(store / "shards" / "00000.npy", -1)  # in place of what is mapped
    opened.stack(np.arange(4))


def test_a_store_without_checksums_is_read_as_before(tmp_path: Path) -> None:
    store = write_store(tmp_path / "store")
    manifest = store / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"checksums": {\n    "page": 4096\n  },', ""))
    assert manifest.read_text() != text
    for file in store.glob("shards/*.sums"):
        file.unlink()
    change(store / "shards" / "00000.npy", -1)
    assert len(open_patches(store).stack(np.arange(8)).pixels) == 8


@pytest.mark.parametrize("content", [None, b"", b"12345678" * 3])
def test_checksums_that_are_not_there_are_missed(tmp_path: Path, content: bytes | None) -> None:
    store = write_store(tmp_path / "store")
    sums = store / "shards" / "00000.sums"
    sums.unlink() if content is None else sums.write_bytes(content)
    with pytest.raises(FileError, match=r"00000\.sums"):
        open_patches(store).stack([0])
