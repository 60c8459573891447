"""The shape of a tree counts what a reader meets."""

from lab.shape import room_of, shape_of, shapes

MODULE = '''"""A module."""

LOW, HIGH = 1, 2.5
LIMITS: Final = (0.5, -3)
GREEN_UM = 0.55e-3 * 2
NAME = "green"
FLAG = True
_SMALL: float = 1e-9


class One:
    INSIDE = 3

    def method(self) -> int:
        return 1


async def function() -> None:
    LOCAL = 2
'''


def test_numbers_functions_and_lines_are_counted() -> None:
    shape = shape_of(MODULE)
    assert (shape.files, shape.lines, shape.functions, shape.constants) == (1, len(MODULE.splitlines()), 2, 5)


def test_rooms_are_the_folders_of_the_package() -> None:
    assert room_of("src/dioptre/optics.py") == "dioptre"
    assert room_of("src/dioptre/methods/kernels/blur.py") == "methods"
    assert room_of("lab/shape.py") == "lab"


def test_the_package_is_the_sum_of_its_rooms() -> None:
    found = shapes()
    rooms = [shape for name, shape in found.items() if name not in ("the package", "lab", "tests")]
    assert found["the package"].lines == sum(one.lines for one in rooms) > 10_000
    assert found["the package"].files == sum(one.files for one in rooms)
