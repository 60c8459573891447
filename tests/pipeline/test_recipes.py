from dataclasses import replace
from pathlib import Path

import pytest

from dioptre.methods import METHODS
from dioptre.methods.learned import Learned
from dioptre.pipeline.recipes import SHIPPED, Catalogue, RegisteredStore, ShippedNetwork, TrainingStage
from dioptre.pipeline.settings import Simulation
from dioptre.train.recipe import BuildsOn, Recipe

NAMES = [network.name for network in SHIPPED.networks]
COMING = [network.name for network in SHIPPED.networks if network.shipped]


def test_every_shipped_network_has_a_row() -> None:
    assert set(COMING) == {key for key, row in METHODS.items() if isinstance(row.build(), Learned)}


@pytest.mark.parametrize("name", COMING)
def test_a_shipped_file_is_what_its_row_makes(name: str) -> None:
    learned, row = METHODS[name].build(), SHIPPED.find(name)
    assert isinstance(learned, Learned)
    card, stage = learned.card, row.stages[-1]
    assert card.recipe == stage.recipe.to_json()
    assert len(card.lineage["data"]) == len(stage.stores)
    assert card.looks in (0, -1, 1 + len(stage.after))


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


def test_a_catalogue_that_cannot_be_run_is_refused() -> None:
    stores = {"some": Simulation(16, 0)}
    stage = TrainingStage("a", Recipe(), ("some",))
    with pytest.raises(ValueError, match="the stage a needs none"):
        Catalogue(stores, (ShippedNetwork((replace(stage, start_from="none"),)),))
    with pytest.raises(ValueError, match="the stage a needs other"):
        Catalogue(stores, (ShippedNetwork((replace(stage, stores=("other",)),)),))
    with pytest.raises(ValueError, match="the store two is made from none, which is not simulated"):
        Catalogue({**stores, "two": RegisteredStore("none")}, (ShippedNetwork((stage,)),))
    with pytest.raises(ValueError, match="same name"):
        Catalogue(stores, (ShippedNetwork((stage, stage)),))
    with pytest.raises(ValueError, match="no recipe 'b'; there are a"):
        Catalogue(stores, (ShippedNetwork((stage,)),)).find("b")
