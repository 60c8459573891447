from dataclasses import replace
from pathlib import Path

import pytest

from dioptre.methods import METHODS
from dioptre.methods.learned import Learned
from dioptre.pipeline.recipes import SHIPPED, Catalogue, ShippedNetwork, Stage
from dioptre.pipeline.settings import Simulation
from dioptre.train.recipe import BuildsOn, Recipe

NAMES = [network.name for network in SHIPPED.networks]
SINCE = {"average": "ema", "moves": "auxiliary", "quarters": "crops", "decay": "weight_decay"}
SINCE["taught"] = "distillation"  # names of today, of settings in cards written before


def test_every_shipped_network_has_a_row() -> None:
    assert set(NAMES) == {key for key, row in METHODS.items() if isinstance(row.build(), Learned)}


@pytest.mark.parametrize("name", NAMES)
def test_the_last_stage_is_what_the_shipped_file_says(name: str) -> None:
    learned = METHODS[name].build()
    assert isinstance(learned, Learned)
    said = {SINCE.get(key, key): value for key, value in learned.card.recipe.items()}
    stage = SHIPPED.find(name).stages[-1]
    row = stage.recipe.to_json()
    assert said == {key: row[key] for key in said}
    assert learned.card.looks in (0, -1, 1 + len(stage.after))
    assert len(stage.stores) == len(learned.card.lineage["data"])


@pytest.mark.parametrize("name", NAMES)
def test_stages_come_after_what_they_build_on(name: str) -> None:
    stages = SHIPPED.stages_of(name)
    assert stages[-1].name == name
    finished: set[str] = set()
    for stage in stages:
        assert set(stage.builds_on) <= finished
        finished.add(stage.name)
        start, teacher = (Path(one) if one else None for one in (stage.start_from, stage.teacher))
        BuildsOn(start, (), teacher).check(stage.recipe)


def test_where_a_shipped_file_differs_its_row_says_so() -> None:
    assert all(network.differs for network in SHIPPED.networks)


def test_a_catalogue_that_cannot_be_run_is_refused() -> None:
    stores = {"some": Simulation(16, 0)}
    stage = Stage("a", Recipe(), ("some",))
    with pytest.raises(ValueError, match="the stage a needs none"):
        Catalogue(stores, (ShippedNetwork((replace(stage, start_from="none"),)),))
    with pytest.raises(ValueError, match="the stage a needs other"):
        Catalogue(stores, (ShippedNetwork((replace(stage, stores=("other",)),)),))
    with pytest.raises(ValueError, match="same name"):
        Catalogue(stores, (ShippedNetwork((stage, stage)),))
    with pytest.raises(ValueError, match="no recipe 'b'; there are a"):
        Catalogue(stores, (ShippedNetwork((stage,)),)).find("b")
