import pytest

from dioptre.cli import main
from dioptre.methods.measure import kernels


def test_the_default_measures_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm"]) == 0
    assert capsys.readouterr().out == "compiled: 2 of 49 measures\n"
    assert kernels().distance_cells.signatures
    assert kernels().sobel_cells.signatures
