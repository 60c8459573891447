"""Training of the depth network: its loss against the slow way, and a short run, stopped and resumed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dioptre.errors import FileError, InputError
from dioptre.grid import FocusGrid
from dioptre.methods.depth_network import DepthNetwork
from dioptre.store.depth_images import DepthImages, DepthImageWriter
from dioptre.store.format import StoreFormat
from dioptre.train.depth import astray, draw_batch, fit_affine, load_depth, train_depth, unexplained
from dioptre.train.depth_export import export_depth
from dioptre.train.depth_recipe import DepthRecipe

TINY = DepthRecipe(width=0.25, steps=4, batch=1, sizes=(32, 64), validate_every=2)
SIZE, SCALE = 64, 4


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide") / "store"
    writer = DepthImageWriter(
        folder, StoreFormat(FocusGrid.uniform(n=9), SIZE, 2, 64.0, 1023.0), {}, ("validation", "train")
    )
    for number in writer.begin():
        rng = np.random.default_rng(number)
        codes = rng.integers(100, 900, (3, 2, SIZE // 2 + 2, SIZE)).astype(np.uint16)
        depths = rng.uniform(0, 5, (3, SIZE // SCALE, SIZE // SCALE)).astype(np.float32)
        writer.write_shard(number, codes, depths, rng.uniform(0, 5, 3))
    writer.finish()
    return folder


def test_the_fit_is_that_of_least_squares_and_any_affine_map_is_without_loss() -> None:
    rng = np.random.default_rng(0)
    maps, target = (torch.from_numpy(rng.normal(0, 2, (3, 5, 6))) for _ in (0, 1))
    fitted = fit_affine(maps, target)
    for one, wanted, found in zip(maps, target, fitted, strict=True):
        slope, offset = np.polyfit(one.ravel(), wanted.ravel(), 1)
        np.testing.assert_allclose(found, slope * one + offset, atol=1e-3)
    assert float(unexplained(-3 * target + 7, target).max()) < 1e-6
    assert float(unexplained(maps, target).min()) > 0.5
    assert float(unexplained(maps, torch.ones(3, 5, 6)).max()) == 0


def test_a_coarser_map_is_compared_with_means() -> None:
    target = torch.arange(64.0).reshape(1, 8, 8)
    means = target.reshape(1, 4, 2, 4, 2).mean(dim=(2, 4))
    assert float(unexplained(means, target)) < 1e-6
    assert float(astray(means / 8, target)) < 1e-6
    assert float(astray(means / 8 + 1, target)) > 0.5


def test_a_batch_is_the_same_for_a_step_and_has_as_many_pixels_at_any_size(store: Path) -> None:
    pictures = DepthImages(store, "train")
    sizes = set()
    for step in range(8):
        (views, defocus), (again, _) = (draw_batch(pictures, TINY, step) for _ in (0, 1))
        assert torch.equal(views, again)
        count, _, size, _ = views.shape
        assert count * size * size == 64 * 64
        assert defocus.shape == (count, size // SCALE, size // SCALE)
        sizes.add(size)
    assert sizes == {32, 64}


def test_a_training_that_was_stopped_ends_with_the_same_weights(store: Path, tmp_path: Path) -> None:
    def stop(step: int, *_: object) -> None:
        if step == 3:
            raise KeyboardInterrupt

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    best = train_depth(store, whole, TINY)
    with pytest.raises(KeyboardInterrupt):
        train_depth(store, parts, TINY, told=stop)
    with pytest.raises(FileError, match="not finished"):
        load_depth(parts)
    assert train_depth(store, parts, TINY) == best
    ours, theirs = (load_depth(path)[0].state_dict() for path in (whole, parts))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    entries = load_depth(whole)[1]
    assert entries["data"] == DepthImages(store, "train").manifest["sha256"]


def test_the_file_answers_as_torch_does(store: Path, tmp_path: Path) -> None:
    train_depth(store, tmp_path / "run", TINY)
    network, _ = load_depth(tmp_path / "run")
    for half in (False, True):
        found = export_depth(tmp_path / "run", tmp_path / f"{half}.onnx", half)
        assert found.difference < (0.05 if half else 1e-3)
    left, right = np.random.default_rng(0).uniform(0.1, 0.5, (2, 1, 130, 200)).astype(np.float32)
    maps = DepthNetwork(tmp_path / "False.onnx")(left, right)
    assert maps.shape == (1, 32, 48)
    views = torch.from_numpy(np.stack([left, right], axis=1)[:, :, :128, :192])
    np.testing.assert_allclose(maps, network(views).detach(), atol=1e-3)


def test_the_learning_rate_rises_stays_and_falls() -> None:
    recipe = replace(TINY, steps=1000)
    rates = [recipe.learning_rate_at(step) for step in (0, 100, 700, 900, 999)]
    assert rates[0] < rates[1] == rates[2] > rates[3] > rates[4] > 0


def test_what_cannot_be_trained_is_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="positive"):
        train_depth(store, tmp_path / "a", replace(TINY, steps=0))
    with pytest.raises(InputError, match="multiples of 32"):
        train_depth(store, tmp_path / "a", replace(TINY, sizes=(40,)))
    with pytest.raises(InputError, match="has pictures of 64 pixels, not 128"):
        train_depth(store, tmp_path / "a", replace(TINY, sizes=(128,)))
