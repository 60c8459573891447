"""Stacks in NumPy files."""

import io
import zipfile

import numpy as np
import pytest

from dioptre.errors import StackFileError
from dioptre.stacks.axes import Wanted
from dioptre.stacks.formats import open_stacks, read_pictures
from tests.stacks.picture_files import COLS, ROWS, noise, refusal


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float16, np.float32, np.float64, ">u2"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_array_keeps_its_numbers(tmp_path, dtype, suffix):
    stack = noise(3, ROWS, COLS).astype(dtype)
    save = np.save if suffix == ".npy" else np.savez_compressed
    save(tmp_path / f"stack{suffix}", stack)
    pictures = read_pictures(tmp_path / f"stack{suffix}")
    np.testing.assert_array_equal(pictures.codes, stack[:, None])
    assert pictures.codes.dtype == np.dtype(dtype).newbyteorder("=")
    assert pictures.names == ("slice 0", "slice 1", "slice 2")
    assert pictures.white == (np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1.0)


def test_npy_is_mapped_not_loaded(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    codes = read_pictures(tmp_path / "stack.npy").codes
    assert not codes.flags.owndata
    assert not codes.flags.writeable


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((5, ROWS, COLS), np.s_[:, None]),
        ((5, 1, ROWS, COLS), np.s_[:]),
        ((5, 2, ROWS, COLS), np.s_[:]),
        ((1, 2, ROWS, 4), np.s_[:]),
        ((5, ROWS, COLS, 3), np.s_[:, None, :, :, 1]),
        ((5, ROWS, COLS, 1), np.s_[:, None, :, :, 0]),
        ((30, 60, 10), np.s_[:, None]),  # a narrow region, but not plainly turned
    ],
)
def test_array_shapes(tmp_path, shape, view):
    stack = noise(*shape)
    np.save(tmp_path / "stack.npy", stack)
    np.testing.assert_array_equal(read_pictures(tmp_path / "stack.npy").codes, stack[view])


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (9,),
        (ROWS, COLS),
        (ROWS, COLS, 3),  # one colour picture, not a stack
        (0, ROWS, COLS),
        (5, 0, 0),
        (5, 3, ROWS, COLS),
        (5, 2, ROWS, 3),
        (1, 5, 2, ROWS, COLS),
    ],
)
def test_other_array_shapes_are_refused_with_the_shape(tmp_path, shape):
    np.save(tmp_path / "stack.npy", np.zeros(shape, np.uint8))
    message = refusal(tmp_path / "stack.npy")
    assert "stack.npy" in message
    assert ", ".join(map(str, shape)) in message


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((64, 64, 9), "YXZ"), ((64, 64, 32), "YXZ"), ((60, 48, 9), "YXZ"), ((64, 9, 64), "YZX")],
)
def test_an_array_that_is_plainly_turned_wants_its_axes(tmp_path, shape, axes):
    stack = noise(*shape)
    np.save(tmp_path / "stack.npy", stack)
    assert f"looks turned: say which axis is which, {axes} or ZYX (axes=...)" in refusal(
        tmp_path / "stack.npy"
    )
    turned = read_pictures(tmp_path / "stack.npy", wanted=Wanted(axes=axes)).codes
    np.testing.assert_array_equal(turned[:, 0], np.moveaxis(stack, axes.index("Z"), 0))
    as_it_is = read_pictures(tmp_path / "stack.npy", wanted=Wanted(axes="zyx")).codes
    np.testing.assert_array_equal(as_it_is[:, 0], stack)


def test_axes_say_what_the_shape_does_not(tmp_path):
    stack = noise(2, 5, 3, ROWS, COLS)
    np.save(tmp_path / "stack.npy", stack)
    found = open_stacks(tmp_path / "stack.npy", Wanted(axes="TZCYX"))
    assert [one.label for one in found] == [f"time {t}, channel {c}" for t in range(2) for c in range(3)]
    np.testing.assert_array_equal(found[4].codes[:, 0], stack[1, :, 1])
    with pytest.raises(StackFileError, match=r"stack\.npy: .* not the axes ZYX"):
        open_stacks(tmp_path / "stack.npy", Wanted(axes="ZYX"))


@pytest.mark.parametrize("dtype", [bool, complex, object, "U3", "datetime64[s]"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_other_dtypes_are_refused(tmp_path, dtype, suffix):
    save = np.save if suffix == ".npy" else np.savez
    save(tmp_path / f"stack{suffix}", np.zeros((3, ROWS, COLS), np.uint8).astype(dtype))
    assert f"stack{suffix}" in refusal(tmp_path / f"stack{suffix}")


@pytest.mark.parametrize("name", ["stack", "pixels"])
def test_npz_with_several_arrays(tmp_path, name):
    stack = noise(3, ROWS, COLS)
    np.savez(tmp_path / "s.npz", depth=np.zeros((ROWS, COLS)), **{name: stack})
    np.testing.assert_array_equal(read_pictures(tmp_path / "s.npz").codes[:, 0], stack)


def test_npz_without_a_stack_lists_its_arrays(tmp_path):
    np.savez(tmp_path / "s.npz", left=noise(3, ROWS, COLS), right=noise(3, ROWS, COLS))
    assert "left, right" in refusal(tmp_path / "s.npz")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("damage", ["text", "empty", "cut", "header"])
def test_broken_array_is_refused(tmp_path, suffix, damage):
    file = tmp_path / f"stack{suffix}"
    save = np.save if suffix == ".npy" else np.savez
    save(file, noise(3, ROWS, COLS))
    whole = file.read_bytes()
    broken = {
        "text": b"this is not an array",
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "header": whole.replace(b"(3, 12, 16)", b"(3, 12, 16 "),
    }
    file.write_bytes(broken[damage])
    assert str(file) in refusal(file)


def test_whole_files_report_progress_once(tmp_path):
    np.save(tmp_path / "stack.npy", noise(3, ROWS, COLS))
    seen: list[tuple[int, int]] = []
    read_pictures(tmp_path / "stack.npy", lambda done, total: seen.append((done, total)))
    assert seen == [(3, 3)]


@pytest.mark.parametrize("slices", [2**40, 2**62, 2**63, 2**70])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_an_array_that_claims_more_than_any_memory_is_refused(tmp_path, suffix, slices):
    file, header = tmp_path / f"stack{suffix}", io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<u2", "fortran_order": False, "shape": (slices, ROWS, COLS)}
    )
    if suffix == ".npy":
        file.write_bytes(header.getvalue())
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("stack.npy", header.getvalue())
    assert str(file) in refusal(file)
