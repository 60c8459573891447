import zipfile
from pathlib import Path

import numpy as np
import pytest

from dioptre.errors import FileError
from dioptre.resources import set_limit
from dioptre.store.npz import read_bundle

KINDS = {"a": ("f", 2), "b": ("iu", 1)}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    np.savez_compressed(tmp_path / "x.npz", a=np.ones((2, 3)), b=np.arange(4), more=np.zeros(1))
    return tmp_path / "x.npz"


def test_the_arrays_that_are_wanted_come_back(bundle: Path) -> None:
    found = read_bundle(bundle, KINDS)
    assert set(found) == {"a", "b"}
    np.testing.assert_array_equal(found["b"], np.arange(4))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data[:-30], "damaged, or something else"),
        (lambda _: b"", "damaged, or something else"),
        (lambda _: b"\x93NUMPY\x01\x00", "damaged, or something else"),
        (lambda data: data.replace(b"a.npy", b"c.npy"), "no item named 'a.npy'"),
    ],
)
def test_what_is_no_bundle_is_refused_in_a_line_with_the_file(bundle: Path, change, told: str) -> None:
    bundle.write_bytes(change(bundle.read_bytes()))
    with pytest.raises(FileError, match=told) as refused:
        read_bundle(bundle, KINDS)
    assert str(bundle) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_another_kind_of_array_is_refused(bundle: Path) -> None:
    with pytest.raises(FileError, match=r"its array b is int64 of shape \(4,\)"):
        read_bundle(bundle, {"b": ("f", 1)})


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.array([print], dtype=object))
    with pytest.raises(FileError, match=r"x\.npz is damaged, or something else: .*[Oo]bject"):
        read_bundle(tmp_path / "x.npz", {"a": ("O", 1)})


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIOPTRE_MAX_GIGABYTES", "")
    set_limit(0.001)
    head = tmp_path / "a.npy"
    np.save(head, np.zeros((2000, 2000), np.uint8))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(head, "a.npy")
    with pytest.raises(FileError, match=r"would take 0\.004 GB of memory, more than 0\.001 GB"):
        read_bundle(tmp_path / "x.npz", {"a": ("u", 2)})
