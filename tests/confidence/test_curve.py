import numpy as np

from dioptre.confidence.curve import smoothed, vote


def bump(at: float, n: int = 21, width: float = 2.0) -> np.ndarray:
    return np.exp(-(((np.arange(n) - at) / width) ** 2))


def test_each_tile_has_the_same_say_whatever_its_contrast() -> None:
    tiles = np.stack([100 * bump(5), bump(14), 2 * bump(14), 3 * bump(14)])
    voted = vote(tiles)
    assert tiles.sum(axis=0).argmax() == 5
    assert voted is not None
    assert voted.argmax() == 14


def test_a_tile_that_does_not_vary_or_is_not_finite_has_no_say() -> None:
    tiles = np.stack([np.full(21, 7.0), np.where(np.arange(21) == 3, -np.inf, 1.0), bump(9)])
    voted = vote(tiles)
    alone = vote(bump(9)[None])
    assert voted is not None
    assert alone is not None
    np.testing.assert_allclose(voted, alone)


def test_nobody_votes_where_no_tile_tells() -> None:
    assert vote(np.ones((4, 21))) is None
    assert vote(np.full((4, 21), np.nan)) is None


def test_smoothing_keeps_the_mean_of_what_ends_at_nought_and_any_straight_line_within() -> None:
    curve = bump(10, width=1.0)
    np.testing.assert_allclose(smoothed(curve).mean(), curve.mean(), atol=1e-9)
    line = np.arange(8.0)
    np.testing.assert_allclose(smoothed(line)[1:-1], line[1:-1])
