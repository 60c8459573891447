"""A damaged cache of compiled kernels is rebuilt."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from kernels_of_mine import double
assert double(21) == 42
print("done")
"""


def test_a_damaged_cache_is_rebuilt(tmp_path: Path) -> None:
    (tmp_path / "kernels_of_mine.py").write_text(
        "from dioptre.compiled import kernel\n\n\n@kernel\ndef double(x):\n    return 2 * x\n"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run() == "done\n"
    files = [file for file in (tmp_path / "cache").rglob("*") if file.suffix in (".nbi", ".nbc")]
    assert len(files) == 2
    for content in (b"", b"\x80\x05" + bytes(100)):
        for file in files:
            file.write_bytes(content)
        assert run() == "done\n"
    assert any(file.read_bytes() != content for file in files)  # rebuilt
