import numpy as np

from dioptre.confidence.features import sweep_evidence
from dioptre.confidence.sweep_statistics import LAGS, Traces


def traces_of(tiles: np.ndarray) -> Traces:
    """Returns the traces of a sweep whose parts share so much detail with the next slice."""
    n = tiles.shape[1] + 1
    mean, lags = np.full(n, 0.3), np.ones((len(LAGS), n))
    nothing = np.zeros(n)
    return Traces(mean, lags, 0.9 * lags[:, 1:], tiles, np.ones(n - 1), 0.0, nothing, nothing, nothing, 1)


def test_parts_may_be_sharp_anywhere_on_a_plateau() -> None:
    """Which of the equal slices a part prefers is noise, and no sign of several depths."""
    rng = np.random.default_rng(2)
    flat = np.where((np.arange(24) >= 8) & (np.arange(24) < 20), 1.0, 0.2)
    traces = traces_of(flat + 0.01 * rng.random((49, 24)))
    alone, known = sweep_evidence(traces, 9), sweep_evidence(traces, 9, (8, 20))
    assert known["parts-apart"] < alone["parts-apart"]
    assert known["parts-near"] == 1.0 > alone["parts-near"]
    assert known["parts-vote-astray"] == np.log(0.01)
