"""Learned depth without a trained network: maps that are known, fitted to the shifts of tiles."""

from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from dioptre.errors import NetworkError
from dioptre.methods.depth_network import (
    KIND,
    METADATA,
    SCALE,
    DepthNetwork,
    fit_to_tiles,
    match_depth,
    pool_tiles,
)
from dioptre.methods.matching import FULL, HALF, Tiles, View, match_ssd

REACH = 11


def two_depths(rows: int = 192, cols: int = 256, first: int = 0) -> tuple[View, View, np.ndarray]:
    """Views of which a third from a row on is shifted by 4 pixels, the rest by -2, and each row's shift."""
    rng = np.random.default_rng(0)
    texture = gaussian_filter(rng.standard_normal((rows, cols + 20)), 2.5)
    texture = 0.4 + 0.1 * texture / texture.std()
    edge = 16 * (rows // 48)
    shifts = np.where((np.arange(rows) >= first) & (np.arange(rows) < first + edge), 4, -2)
    left = texture[:, 10 : 10 + cols]
    right = np.stack([row[10 - d : 10 - d + cols] for row, d in zip(texture, shifts, strict=True)])
    return left[None].astype(np.float32), right[None].astype(np.float32), shifts


def test_any_affine_map_of_the_depth_gives_the_shift_of_the_median() -> None:
    left, right, shifts = two_depths()
    small = np.repeat(shifts[::SCALE, None], 256 // SCALE, axis=1)[None].astype(np.float64)
    for gain, offset in ((1.0, 0.0), (-0.02, 7.0), (300.0, -4.0)):
        for size in (FULL, HALF):
            found = match_depth(lambda _l, _r, g=gain, o=offset: g * small + o, left, right, REACH, size)
            assert found.shifts[0] == pytest.approx(-2.0, abs=0.15)


def test_the_median_may_be_that_of_the_middle_of_a_picture() -> None:
    left, right, shifts = two_depths(240, 256, first=80)
    small = np.repeat(shifts[::SCALE, None], 256 // SCALE, axis=1)[None].astype(np.float64)
    whole, inner = (match_depth(lambda _l, _r: small, left, right, REACH, within=some) for some in (0, 48))
    assert whole.shifts[0] == pytest.approx(-2.0, abs=0.2)
    assert 1.5 < inner.shifts[0] < 4.2  # tiles are smoothed towards the rest of the picture


def test_a_map_that_says_nothing_leaves_what_tiles_say() -> None:
    left, right, _ = two_depths()
    right = np.roll(left, 3, axis=2)
    flat = match_depth(lambda _l, _r: np.full((1, 48, 64), 5.0), left, right, REACH)
    assert flat.shifts[0] == pytest.approx(match_ssd(left, right, REACH).shifts[0], abs=0.1)


def test_the_fit_is_that_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(1)
    depth, shifts, weights = rng.random((3, 2, 5, 6))
    fitted, off = fit_to_tiles(depth, Tiles(shifts, weights, np.zeros((2, 13))))
    for at in range(2):
        d, s, w = depth[at].ravel(), shifts[at].ravel(), weights[at].ravel()
        slope, offset = np.polyfit(d, s, 1, w=np.sqrt(w))
        np.testing.assert_allclose(fitted[at].ravel(), slope * d + offset, atol=1e-3)
    assert (off > 0).all()


def test_tiles_without_weight_do_not_crash() -> None:
    nothing = Tiles(np.ones((1, 3, 3)), np.zeros((1, 3, 3)), np.zeros((1, 13)))
    fitted, _ = fit_to_tiles(np.ones((1, 3, 3)), nothing)
    assert (fitted == 0).all()


def test_a_tile_is_the_mean_of_its_part_of_the_map() -> None:
    maps = np.arange(32 * 32, dtype=np.float64).reshape(1, 32, 32)
    tiles = Tiles(np.ones((1, 7, 6)), np.ones((1, 7, 6)), np.zeros((1, 13)))  # 6 steps of 2 pixels: column 12
    found = pool_tiles(maps, tiles)  # and a rim of 4 pixels
    assert found[0, 0, 0] == maps[0, 1:5, 4:8].mean()
    assert found[0, 6, 5] == maps[0, 25:29, 24:28].mean()
    small = Tiles(np.ones((1, 16, 14)), np.ones((1, 16, 14)), np.zeros((1, 7)), FULL)
    maps = np.arange(32 * 30, dtype=np.float64).reshape(1, 32, 30)
    assert pool_tiles(maps, small)[0, 2, 1] == maps[0, 4:6, 2:4].mean()


# Files


def write_network(path: Path, kind: str = KIND) -> Path:
    """A network that answers with the left view, pooled."""
    onnx = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("AveragePool", ["views"], ["pooled"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Gather", ["pooled", "which"], ["depth"], axis=1),
    ]
    which = helper.make_tensor("which", onnx.TensorProto.INT64, [], [0])
    shape = ["n", 2, "h", "w"]
    graph = helper.make_graph(
        nodes,
        "left",
        [helper.make_tensor_value_info("views", tensor, shape)],
        [helper.make_tensor_value_info("depth", tensor, ["n", "h4", "w4"])],
        [which],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {METADATA: kind})
    onnx.save(model, path)
    return path


def test_a_network_in_a_file_tells_the_depth_of_pictures(tmp_path: Path) -> None:
    network = DepthNetwork(write_network(tmp_path / "left.onnx"))
    left, right, _ = two_depths(193, 260)
    maps = network(left, right)
    assert maps.shape == (1, 48, 64)
    assert maps[0, 0, 0] == pytest.approx(left[0, :4, :4].mean(), rel=1e-5)
    assert len(network.identity) == 64
    assert network.there
    assert np.isfinite(match_depth(network, left, right, REACH).shifts).all()
    with pytest.raises(NetworkError, match="128 pixels or more"):
        network(left[:, :100], right[:, :100])


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="not a depth network"):
        _ = DepthNetwork(write_network(tmp_path / "other.onnx", "x")).identity
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(NetworkError, match="cannot be read"):
        _ = DepthNetwork(tmp_path / "bad.onnx").identity
    assert not DepthNetwork(tmp_path / "none.onnx").there
