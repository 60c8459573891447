"""`dioptre import --check`: what is wrong goes to stderr, and the exit code is that of bad input."""

import json
from pathlib import Path

import numpy as np
import pytest

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT
from dioptre.dataset.store import StoreFormat, StoreWriter
from dioptre.optics import FocusGrid


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Returns a store of one patch, too few to judge by."""
    row = {"scene": "s", "capture": "s_0", "split": "test", "row": 0, "col": 0, "truth": 2}
    form = StoreFormat(FocusGrid.uniform(n=5), 16, 1, 0.0, 1000.0, rows_per_native=1)
    writer = StoreWriter(tmp_path / "store", form, {}, 1)
    writer.missing_shards()
    codes = np.random.default_rng(0).integers(0, 1000, (1, 5, 1, 16, 16)).astype(np.uint16)
    writer.write_shard(0, codes, [row | {"where_x": 0.0, "where_y": 0.0}])
    writer.finish()
    return tmp_path / "store"


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_flagged_store_is_bad_input(
    flags: list[str], small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "--check", str(small), *flags]) == BAD_INPUT
    said = capsys.readouterr()
    assert "only 1 patches to judge by" in said.err
    if flags:
        assert json.loads(said.out)["flags"] == said.err.strip().split("\n")
