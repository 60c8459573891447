"""Packed frames: whatever their depth and size, they come back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dioptre.store import kernels
from dioptre.store.packing import pack_frame, packed_words, unpack_frame


@settings(deadline=None, max_examples=50)  # the first compiles
@given(
    bits=st.integers(1, 16),
    rows=st.integers(1, 40),
    cols=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_a_frame_comes_back_whatever_its_depth_and_size(bits, rows, cols, seed, data):
    shift = data.draw(st.integers(0, 16 - bits))
    codes = np.random.default_rng(seed).integers(0, 1 << bits, (rows, cols)).astype(np.uint16) << shift
    words, *packing = pack_frame(codes)
    assert packing[0] <= bits
    assert len(words) == packed_words(codes.shape, packing[0]) == cols * -(-rows * packing[0] // 16)
    assert np.array_equal(unpack_frame(words, *packing, codes.shape), codes)


@pytest.mark.parametrize("bits", range(1, 17))
def test_every_depth_takes_its_bits_and_no_more(bits):
    largest = (1 << bits) - 1
    for shift in range(17 - bits):
        codes = np.full((16, 5), largest << shift, np.uint16)
        codes[3, 2] = 0
        words, *packing = pack_frame(codes)
        assert packing == [bits, shift]
        assert words.nbytes == codes.nbytes * bits // 16
        assert np.array_equal(unpack_frame(words, *packing, codes.shape), codes)


def test_a_black_frame_comes_back():
    codes = np.zeros((5, 7), np.uint16)
    words, *packing = pack_frame(codes)
    assert packing == [1, 0]
    assert np.array_equal(unpack_frame(words, *packing, codes.shape), codes)


def test_columns_are_streams_of_bits_side_by_side():
    codes = np.array([[1, 5], [2, 6], [3, 7]], np.uint16)  # three bits each, from the lowest
    words, bits, shift = pack_frame(codes)
    assert (bits, shift) == (3, 0)
    assert words.tolist() == [0b011_010_001, 0b111_110_101]


@settings(deadline=None, max_examples=50)  # the first compiles
@given(
    top=st.integers(-3, 20),
    left=st.integers(0, 280),
    height=st.integers(1, 22),
    width=st.integers(1, 280),
    bits=st.integers(1, 16),
)
def test_a_window_repeats_the_rows_at_the_edge(top, left, height, width, bits):
    width = min(width, 290 - left)
    codes = np.random.default_rng(bits).integers(1 << bits - 1, 1 << bits, (17, 290)).astype(np.uint16)
    codes[0, 0] = 1  # no shift
    words, bits, shift = pack_frame(codes)
    window = np.empty((height, width), np.uint16)
    kernels.unpack(words, bits, shift, codes.shape, top, left, window)
    rows = np.clip(np.arange(top, top + height), 0, 16)
    assert np.array_equal(window, codes[rows, left : left + width])
