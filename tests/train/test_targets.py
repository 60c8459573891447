from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dioptre.store.patches import PatchStore
from dioptre.train.dataloader import Batch, JoinedStores
from dioptre.train.loss import soft_labels
from dioptre.train.recipe import Recipe
from dioptre.train.targets import Supervision, match_beyond, targets
from tests.train.conftest import write_store


def batch() -> Batch:
    target = torch.tensor([2.0, 4.4, 9.0])
    place = torch.zeros(3, 2), torch.ones(3, 2)
    return Batch(torch.rand(3, 1, 2, 8, 8), torch.tensor([[1], [2], [3]]), *place, target)


def test_only_a_simulated_store_knows_its_lens(store: PatchStore) -> None:
    source = JoinedStores((store,))
    np.testing.assert_array_equal(targets(source, Recipe()), store.column("truth"))
    with pytest.raises(ValueError, match="--target label"):
        targets(source, Recipe(target="optics"))


def test_a_subject_out_of_reach_has_its_position_beyond_the_ladder(tmp_path: Path) -> None:
    beyond = [0.0, -3.5, 8.0, 0.0]
    store = write_store(tmp_path / "far", 4, 1, beyond=list(beyond))
    found = targets(JoinedStores((store,)), Recipe())
    np.testing.assert_array_equal(found, store.column("truth") + np.array(beyond))


def test_with_nothing_to_focus_on_there_is_no_position_and_all_are_alike(tmp_path: Path) -> None:
    store = write_store(tmp_path / "some", 4, 1, focusable=[True, False, True, True])
    found = targets(JoinedStores((store,)), Recipe())
    assert np.isnan(found).tolist() == [False, True, False, False]
    given = replace(batch(), target=torch.tensor([2.0, torch.nan, 3.0]))
    assert Supervision(Recipe(), 7).labels(given)[1].tolist() == pytest.approx([1 / 7] * 7)
    assert Supervision(Recipe(network="move"), 7).labels(given)[1].tolist() == pytest.approx([1 / 9] * 9)


def test_a_relative_network_learns_what_lies_beyond() -> None:
    given = batch()
    flat = Supervision(Recipe(), 7).labels(given)
    torch.testing.assert_close(flat, soft_labels(given.target, 7))
    wide = Supervision(Recipe(network="move"), 7).labels(given)
    torch.testing.assert_close(wide[:2, 1:-1], flat[:2])
    assert wide[2].tolist() == [0.0] * 8 + [1.0]


def test_a_part_of_what_is_learned_is_the_teachers_posterior() -> None:
    given, logits = batch(), torch.randn(3, 9)
    recipe = Recipe(network="move", distillation=0.25)
    labels = Supervision(recipe, 7, lambda *_: logits).labels(given)
    plain = Supervision(Recipe(network="move"), 7).labels(given)
    torch.testing.assert_close(labels, 0.75 * plain + 0.25 * torch.softmax(logits, dim=1))


def test_a_teacher_may_know_more_of_beyond_or_less() -> None:
    wide = torch.softmax(torch.randn(2, 9), dim=1)
    narrow = match_beyond(wide, 7, beyond=False)
    torch.testing.assert_close(narrow, wide[:, 1:-1] / wide[:, 1:-1].sum(dim=1, keepdim=True))
    assert match_beyond(narrow, 7, beyond=True)[:, [0, -1]].abs().max() == 0
    assert match_beyond(wide, 7, beyond=True) is wide
