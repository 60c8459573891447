from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from dioptre.errors import FileError
from dioptre.train.distributed import Rank


def test_an_array_is_made_once(tmp_path: Path) -> None:
    made = [Rank(0, 1).make_once(tmp_path / "x.npy", lambda one=one: np.full(2, one)) for one in (1, 2)]
    assert [one.tolist() for one in made] == [[1, 1], [1, 1]]


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00\x04\x00{{{\n", b"PK\x03\x04", b"text"])
def test_a_damaged_one_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(FileError, match=r"x\.npy is damaged .*: delete it") as refused:
        Rank(0, 1).make_once(tmp_path / "x.npy", lambda: np.zeros(1))
    assert "\n" not in str(refused.value)
