from dataclasses import replace

import numpy as np
import pytest
import torch

from dioptre.store.patches import PatchStore
from dioptre.train import dataloader
from dioptre.train.dataloader import DataLoader, JoinedStores
from tests.train.conftest import POSITIONS, write_store


@pytest.fixture
def supply(store: PatchStore) -> DataLoader:
    source = JoinedStores((store,))
    truth = store.column("truth").astype(np.float64)
    return DataLoader(
        source, np.arange(20), truth, 2, dataloader.random_start(POSITIONS), 6, seed=3, flips="both"
    )


def same(one: dataloader.Batch, other: dataloader.Batch) -> bool:
    names = ("pixels", "indices", "where", "told", "target")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_batch_is_the_same_whenever_it_is_asked_for(supply: DataLoader) -> None:
    streamed = list(supply.stream(2, 9))
    assert len(streamed) == 7
    assert all(same(batch, supply.batch(2 + at)) for at, batch in enumerate(streamed))
    assert not same(streamed[0], streamed[1])
    assert not same(replace(supply, seed=4).batch(2), streamed[0])


def test_processes_share_a_batch(supply: DataLoader) -> None:
    whole = supply.batch(0)
    parts = [replace(supply, part=(rank, 2)).batch(0) for rank in (0, 1)]
    torch.testing.assert_close(torch.cat([part.pixels for part in parts]).sum(), whole.pixels.sum())
    assert sorted(torch.cat([part.target for part in parts]).tolist()) == sorted(whole.target.tolist())
    assert torch.equal(parts[1].indices, whole.indices[1::2])


def test_what_is_fed_is_what_is_stored(supply: DataLoader, store: PatchStore) -> None:
    batch = replace(supply, flips="none").batch(5)
    rng = np.random.default_rng([3, 5])
    rows = rng.choice(np.arange(20), 6, replace=False)
    expected = store.stack(rows, batch.indices.numpy())
    np.testing.assert_array_equal(batch.pixels.numpy(), expected.pixels)
    np.testing.assert_array_equal(batch.target.numpy(), store.column("truth")[rows])


def test_green_is_the_mean_of_the_views(supply: DataLoader) -> None:
    two, one = (replace(supply, flips="none", views=views).batch(1).pixels for views in (2, 1))
    torch.testing.assert_close(two.mean(dim=2, keepdim=True), one)


def test_a_mirror_exchanges_the_views() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.random((3, 2, 2, 4, 4)).astype(np.float32)
    where = np.array([[0.5, 0.25]] * 3, np.float32)
    turned, places = pixels.copy(), where.copy()
    dataloader.flip(
        turned, places, np.array([False, True, False]), np.array([False, False, True]), np.zeros(3, bool)
    )
    np.testing.assert_array_equal(turned[0], pixels[0])
    np.testing.assert_array_equal(turned[1], pixels[1, :, :, ::-1])
    np.testing.assert_array_equal(turned[2, :, 0], pixels[2, :, 1, :, ::-1])
    assert places.tolist() == [[0.5, 0.25], [0.5, -0.25], [-0.5, 0.25]]


def test_green_may_lie_on_its_side() -> None:
    pixels = np.random.default_rng(0).random((2, 3, 1, 4, 4)).astype(np.float32)
    where, no = np.array([[0.5, 0.25]] * 2, np.float32), np.zeros(2, bool)
    laid = pixels.copy()
    dataloader.flip(laid, where, no, no, np.array([False, True]))
    np.testing.assert_array_equal(laid[0], pixels[0])
    np.testing.assert_array_equal(laid[1], pixels[1].transpose(0, 1, 3, 2))
    assert where.tolist() == [[0.5, 0.25], [0.25, 0.5]]


def test_the_first_batches_see_a_crop_of_each_patch(supply: DataLoader) -> None:
    whole = replace(supply, flips="none")
    early, late = (replace(whole, crops=2).batch(number) for number in (1, 2))
    size = whole.batch(1).pixels.shape[-1]
    assert early.pixels.shape == (*whole.batch(1).pixels.shape[:3], size // 2, size // 2)
    assert same(late, whole.batch(2))


def test_some_patches_are_shown_without_lens_or_place(supply: DataLoader) -> None:
    assert (supply.batch(0).told == 1).all()
    told = torch.cat([replace(supply, untold=0.5).batch(number).told for number in range(20)])
    assert 0.3 < float(told[:, 0].mean()) < 0.7
    assert float((told[:, 0] != told[:, 1]).float().mean()) > 0.1  # one without the other


def test_a_crop_is_cut_out_anywhere(supply: DataLoader) -> None:
    source = supply.source
    assert isinstance(source, JoinedStores)
    half = source.stores[0].format.size // 2
    crop_at = np.array([[0.0, 0.0], [0.999, 0.999]])
    assert source.crop_corners(crop_at).tolist() == [[0, 0], [half, half]]
    rows, indices = np.array([3, 5]), np.array([[1, 4], [0, 6]])
    whole, parts = (source.read(rows, indices, 2, at)[0] for at in (None, crop_at))
    np.testing.assert_array_equal(parts[0], whole[0, ..., :half, :half])
    np.testing.assert_array_equal(parts[1], whole[1, ..., half:, half:])


def test_looks_are_where_they_should_be() -> None:
    rng, rows = np.random.default_rng(0), np.arange(50)
    assert (dataloader.whole_stack(7)(rng, rows) == np.arange(7)).all()
    starts = dataloader.random_start(7)(rng, rows)
    assert set(starts.ravel().tolist()) == set(range(7))
    trails = rng.integers(0, 7, (50, 7, 2))
    trails[:, :, 0] = np.arange(7)
    led = dataloader.from_trails(trails)(rng, rows)
    assert (led[:, 1] == trails[rows, led[:, 0], 1]).all()


def test_some_slices_never_repeat_and_never_fill_the_memory() -> None:
    draw = dataloader.some_slices(7, ((1, 0.5), (3, 0.3), (7, 0.2)), most=21)
    seen = set()
    for seed in range(30):
        looks = draw(np.random.default_rng(seed), np.arange(16))
        seen.add(looks.shape)
        assert all(len(set(row)) == len(row) for row in looks.tolist())
    assert seen == {(16, 1), (7, 3), (3, 7)}


def test_several_stores_are_counted_through(
    store: PatchStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = write_store(tmp_path_factory.mktemp("other") / "store", 4, seed=9)
    source = JoinedStores((store, other))
    rows = np.array([481, 3, 480])
    pixels, where = source.read(rows, np.array([[1], [2], [3]]), 2)
    np.testing.assert_array_equal(pixels[0], other.stack([1], [1]).pixels[0])
    np.testing.assert_array_equal(pixels[1], store.stack([3], [2]).pixels[0])
    np.testing.assert_allclose(where[2], [other.column("where_x")[0], other.column("where_y")[0]], rtol=1e-6)
    assert len(source.column("truth")) == 484


def test_searches_are_practised_once_there_are_some() -> None:
    random = dataloader.some_slices(7, ((5, 1.0),), most=1000)
    searches, rows = dataloader.RandomOrTrails(random), np.arange(20)
    seen = {searches(np.random.default_rng(at), rows).shape[1] for at in range(40)}
    assert seen == {5}
    searches.trails = np.full((20, 7, 3), 6)
    looks = [searches(np.random.default_rng(at), rows) for at in range(40)]
    assert {one.shape[1] for one in looks} == {1, 2, 3, 5}
    assert all((one == 6).all() for one in looks if one.shape[1] < 5)
