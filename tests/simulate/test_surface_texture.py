"""Clutter: things of many sizes whose albedos differ by factors, and that run one way where they should."""

from dataclasses import replace

import numpy as np
import pytest

from dioptre.simulate.surface_texture import SHAPES, Clutter, draw_things, paint, silhouette

SIZE = 256
PLAIN = [np.ones((SIZE, SIZE), np.float32)] * 3


def painted(seed: int, **changes: object) -> np.ndarray:
    return paint(PLAIN, replace(Clutter(), **changes), SIZE, np.random.default_rng(seed))


def energy_ratio(picture: np.ndarray) -> float:
    """Returns the energy of differences down the rows over those along them."""
    return float(np.square(np.diff(picture, axis=0)).sum() / np.square(np.diff(picture, axis=1)).sum())


def test_the_same_seed_gives_the_same_picture() -> None:
    np.testing.assert_array_equal(painted(3), painted(3))
    assert not np.array_equal(painted(3), painted(4))


def test_albedos_differ_by_factors() -> None:
    pictures = [painted(seed, size_px=(10.0, 30.0)) for seed in range(6)]
    assert np.median([one.std() / one.mean() for one in pictures]) > 0.5
    assert all(one.min() >= 0 for one in pictures)


def test_things_of_one_albedo_in_even_light_are_a_blank_sheet() -> None:
    sheet = painted(0, albedo=(0.5, 0.5000001), shadows=0.0, round_share=0.0, grain=(1e-9, 2e-9))
    faces = sheet / np.float32(0.5)  # boxes keep faces in different light
    assert np.mean(np.abs(faces - 1) < 1e-5) > 0.5


def test_upright_things_run_along_the_rows_and_level_ones_down_them() -> None:
    rest = {"one_way": 1.0, "shadows": 0.0, "grain": (1e-9, 2e-9), "print_share": 0.0}
    upright = np.mean([np.log(energy_ratio(painted(seed, upright=1.0, **rest))) for seed in range(6)])
    level = np.mean([np.log(energy_ratio(painted(seed, upright=0.0, **rest))) for seed in range(6)])
    assert upright > 0.5
    assert level < -0.5


def test_larger_things_are_fewer_and_come_first() -> None:
    things = draw_things(3, Clutter(), 1024, np.random.default_rng(0), None)
    areas = np.array([np.prod(thing.half) for thing in things[1:]])
    assert np.median(areas) < np.mean(areas)
    first, last = np.array_split(np.log(areas), 2)
    assert first.mean() > last.mean()


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_polygons_around_its_middle(shape: str) -> None:
    for seed in range(4):
        outlines = SHAPES[shape](np.random.default_rng(seed))
        for outline in outlines:
            assert outline.ndim == 2
            assert len(outline) >= 4
            assert np.isfinite(outline).all()
        assert np.abs(np.concatenate(outlines)[:, 1]).max() < 3


def test_a_silhouette_covers_a_part_of_the_patch() -> None:
    n, size = 300, 160
    middle = slice((n - size) // 2, (n + size) // 2)
    shares = [silhouette(n, size, np.random.default_rng(seed))[middle, middle].mean() for seed in range(40)]
    assert 0.1 < np.mean(shares) < 0.7
    assert np.mean([0.02 < share < 0.98 for share in shares]) > 0.7


def test_shadows_only_take_light() -> None:
    lit, shaded = (painted(5, shadows=number, grain=(1e-9, 2e-9)) for number in (0.0, 20.0))
    assert shaded.mean() < 0.5 * lit.mean()
