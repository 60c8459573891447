from dataclasses import asdict

import pytest

from dioptre.errors import DioptreError, InputError
from dioptre.pipeline.settings import Import, Prediction, Registration, Simulation, split_list
from dioptre.store.labels import FARTHEST_M, NEAREST_M


def test_the_depths_of_an_import_begin_as_the_published_codes_do() -> None:
    assert (Import().min_depth, Import().max_depth) == (NEAREST_M, FARTHEST_M)


def test_what_decides_a_simulation_is_what_its_store_records() -> None:
    assert list(asdict(Simulation())) == [
        "patches", "seed", "camera", "device", "light", "split", "prior", "beyond", "featureless",
        "periodic", "exact_lens", "processed", "textures",
    ]  # fmt: skip


def test_lists_are_separated_by_commas() -> None:
    assert split_list(" center, left,,") == ("center", "left")
    assert Import(cameras="center,left").camera_names == ("center", "left")
    assert Prediction("a,b").keys == ("a", "b")
    assert Prediction().keys == ()


def test_samplings_of_published_frames_are_taken_as_asked() -> None:
    assert Import().samplings == ("raw", "up")
    assert Import(pd="up").samplings == ("up",)


def test_a_principal_point_is_two_numbers() -> None:
    assert Registration(principal_point="-3.5,12").point == (-3.5, 12.0)
    with pytest.raises(InputError, match="'1,2,3'"):
        Registration(principal_point="1,2,3").check()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Simulation(patches=0), "not 0"),
        (Simulation(seed=-1), "not -1"),
        (Registration(size=-8), "not -8"),
        (Import(validation="2"), r"\[0, 1\)"),
        (Import(max_depth=0.05), "0.05 m"),
    ],
)
def test_impossible_values_are_named(settings: Simulation | Registration | Import, said: str) -> None:
    with pytest.raises(DioptreError, match=said):
        settings.check()
