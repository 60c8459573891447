from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre import open_patches
from dioptre.cli import main
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import simulate


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulated") / "store"
    simulate(out, Simulation(patches=2, seed=3), None, lambda *_: None)
    return out


@pytest.mark.parametrize("how", ["calibrated", "searched"])
def test_register_says_what_it_wrote(
    how: str, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["register", str(store), str(tmp_path / how), "--how", how, "--workers", "1"]) == 0
    size = open_patches(tmp_path / how).format.size
    assert size % 8 == 0
    assert f"wrote 2 registered patches of {size} x {size} pixels" in capsys.readouterr().out


def test_bad_input_is_one_sentence(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*arguments: str) -> str:
        assert main(["register", *arguments]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    out = str(tmp_path / "out")
    assert "nowhere" in refused(str(tmp_path / "nowhere"), out)
    assert "'3'" in refused(str(store), out, "--principal-point", "3")
    assert "not -8" in refused(str(store), out, "--size", "-8")
    assert "not for 126" in refused(str(store), out, "--size", "126")
    assert "mine.toml" in refused(str(store), out, "--camera", str(tmp_path / "mine.toml"))
