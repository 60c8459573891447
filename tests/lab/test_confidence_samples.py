"""Samples of confidence: what methods answer to sweeps, and how far off that is."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skimage")
pytest.importorskip("sklearn")

from dioptre.focusing.arguments import DEFAULT_METHOD
from lab.confidence_samples import EACH, MEASURES, VIEWS, Sample, samples_of, scene_samples
from lab.fit_confidence import DIRECTIONS, Table
from lab.true_sweeps import TrueSweep
from tests.confidence.sweeps import SHARP, sweep
from tests.marks import slow


def of_sweep(views: int = 1, seed: int = 0) -> list[Sample]:
    pixels = sweep()
    if views == 2:  # the right view moves left as the focus comes nearer
        moved = [np.roll(one, (SHARP - at) // 3, axis=-1) for at, one in enumerate(pixels)]
        pixels = np.concatenate([pixels, np.stack(moved)], axis=1)
    known = TrueSweep(pixels, (float(SHARP),), 0.7, "painted/raw", clean=True)
    return list(samples_of(known, np.random.default_rng(seed)))


def test_the_default_method_and_some_others_are_asked() -> None:
    found = of_sweep()
    assert found[0].method == DEFAULT_METHOD
    assert len(found) == 1 + EACH
    assert {one.method for one in found[1:]} <= set(MEASURES)


def test_a_sample_is_an_answer_with_its_features_and_how_far_off_it_is() -> None:
    default = of_sweep()[0]
    assert default.answer == pytest.approx(SHARP, abs=0.5)
    assert default.off < 0.6
    assert set(DIRECTIONS) <= set(default.features)


def test_the_same_numbers_draw_the_same_samples() -> None:
    assert [(one.method, one.answer) for one in of_sweep(seed=3)] == [
        (one.method, one.answer) for one in of_sweep(seed=3)
    ]


def test_of_two_views_a_method_that_compares_them_answers_too() -> None:
    found = of_sweep(views=2)
    assert len(found) == 2 + EACH
    assert found[-1].method in VIEWS
    assert not np.isnan(found[-1].features["turned"])


def test_where_nothing_is_sharp_every_answer_is_infinitely_far_off() -> None:
    nowhere = TrueSweep(sweep(), (), float("nan"), "negative/stuck", clean=False)
    assert all(one.off == np.inf for one in samples_of(nowhere, np.random.default_rng(0)))


@slow
def test_samples_of_a_scene_are_written_once_and_read_as_a_table(tmp_path: Path) -> None:
    count = scene_samples(tmp_path, 3, 5)
    path = tmp_path / "000005.npz"
    written = path.stat().st_mtime_ns
    assert scene_samples(tmp_path, 3, 5) == count
    assert path.stat().st_mtime_ns == written
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    table = Table.read(tmp_path)
    assert len(table.off) == count > 30
    assert set(DIRECTIONS) <= set(table.names)
    assert (table.scene == 5).all()
    assert any("@" in one for one in table.method)  # of a few looks
    assert table.clean.any()
    assert table.missed.any()
    assert not np.isinf(table.features).any()
