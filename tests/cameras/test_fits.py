"""FITS as drivers write it, written here from the standard's words."""

import numpy as np
import pytest

from dioptre.cameras.fits import read_fits, read_header
from dioptre.errors import CameraError
from tests.cameras.fake_indi import fits

COUNTS = np.arange(6 * 5, dtype=np.float64).reshape(6, 5)


@pytest.mark.parametrize("bitpix", [8, 16, 32, -32, -64])
def test_counts_come_back_as_they_were_stored(bitpix: int) -> None:
    cards, counts = read_fits(fits(COUNTS, bitpix=bitpix))
    np.testing.assert_array_equal(counts, COUNTS)
    assert cards["BITPIX"] == bitpix


def test_sixteen_bits_reach_from_0_to_65535() -> None:
    _, counts = read_fits(fits(np.array([[0.0, 1.0, 32767.0, 32768.0, 65535.0]])))
    assert counts.tolist() == [[0, 1, 32767, 32768, 65535]]


def test_scale_and_zero_are_applied() -> None:
    _, counts = read_fits(fits(COUNTS, {"BZERO": 10.0, "BSCALE": 0.5}, bitpix=8))
    np.testing.assert_array_equal(counts, 10 + 0.5 * COUNTS)


def test_the_last_axis_is_first_in_the_header() -> None:
    cards, counts = read_fits(fits(np.zeros((3, 6, 5))))
    assert (cards["NAXIS1"], cards["NAXIS2"], cards["NAXIS3"]) == (5, 6, 3)
    assert counts.shape == (3, 6, 5)


def test_cards_are_read_with_their_types_and_without_comments() -> None:
    written = {"FOCUSPOS": 36700, "TELESCOP": "O'Neill / 2", "DARK": False, "SCALE": 1.25, "WIDE": "1.5D2"}
    cards, _ = read_header(fits(COUNTS, written).replace(b"'1.5D2'", b" 1.5D2 "))
    assert {key: cards[key] for key in written} == {**written, "WIDE": 150.0}
    assert "COMMENT" not in cards


def test_a_long_header_takes_more_than_one_block() -> None:
    cards, counts = read_fits(fits(COUNTS, {f"KEY{at}": at for at in range(80)}))
    assert cards["KEY79"] == 79
    np.testing.assert_array_equal(counts, COUNTS)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: b"\x89PNG" + data, "begins with SIMPLE"),
        (lambda data: data[:400], "ends with END"),
        (lambda data: data[:2880], "takes 60 bytes, but 0 came"),
        (lambda data: data.replace(b"NAXIS1  = ", b"NAXIS1  =-"), "whole lengths"),
        (lambda data: data.replace(b"NAXIS   = ", b"NAXIS   =9"), "2 axes"),
        (lambda data: data.replace(b"BITPIX  = ", b"BITPIX  =3"), "BITPIX"),
        (
            lambda data: data.replace(b"                   5 / naxis1", b"         99999999999 / naxis1"),
            "memory",
        ),
        (lambda data: data[:0], "begins with SIMPLE"),
        (lambda data: data.replace(b"               32768", b"                 'x'"), "BZERO"),
        (lambda data: data.replace(b"               32768", b"                 NAN"), "finite number"),
    ],
    ids=[
        "not fits",
        "header cut",
        "picture cut",
        "negative length",
        "nine axes",
        "no type",
        "too large",
        "empty",
        "no zero",
        "zero that is no number",
    ],
)
def test_a_damaged_file_is_one_sentence(spoil, said: str) -> None:
    with pytest.raises(CameraError, match=said):
        read_fits(spoil(fits(COUNTS)))
