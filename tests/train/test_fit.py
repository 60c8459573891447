import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dioptre.dataset.manifest import MANIFEST, WRITING
from dioptre.dataset.store import PatchStore
from dioptre.methods.base import Problem
from dioptre.train import fit
from dioptre.train.feed import Source
from dioptre.train.finished import follow
from dioptre.train.fit import Moment, load_network, read_run, train
from dioptre.train.recipe import Earlier, Practice, Recipe

TINY = Recipe(network="move", width=0.25, steps=6, batch=8, beta1=0.9, schedule="cosine", average=0.9)
QUICK = Practice(validate_every=3, validate_patches=16)


class StopError(Exception):
    pass


def weights(run: Path) -> dict[str, torch.Tensor]:
    return torch.load(run / fit.BEST, weights_only=True)


def test_a_tiny_network_learns(store: PatchStore, tmp_path: Path) -> None:
    recipe = replace(TINY, steps=400, batch=32, learning_rate=3e-3, average=0.98, flips="both")
    seen: list[Moment] = []
    practice = Practice(validate_every=200, validate_patches=256)
    last = train([store.path], tmp_path / "run", recipe, practice, watch=seen.append)
    blind = math.log(7) - 1.0  # a network that knows nothing; labels are a little narrower at the ends
    assert last.loss < 0.75 * blind
    assert seen[-1].step == 400
    assert (tmp_path / "run" / MANIFEST).exists()
    assert read_run(tmp_path / "run")["data"] == [store.manifest["sha256"]]
    assert list((tmp_path / "run").glob("events.*"))


@pytest.mark.parametrize("network", ["one-hot", "move", "looks"])
def test_a_stopped_run_goes_on_to_the_same_result(store: PatchStore, tmp_path: Path, network: str) -> None:
    recipe = replace(TINY, network=network)
    whole = train([store.path], tmp_path / "whole", recipe, QUICK)

    def stop(moment: Moment) -> None:
        if moment.step == 4:
            raise StopError

    with pytest.raises(StopError):
        train([store.path], tmp_path / "parts", recipe, QUICK, watch=stop)
    assert not (tmp_path / "parts" / MANIFEST).exists()
    assert train([store.path], tmp_path / "parts", recipe, QUICK) == whole
    for name, one in weights(tmp_path / "whole").items():
        assert torch.equal(one, weights(tmp_path / "parts")[name]), name


def test_a_run_is_not_resumed_with_something_else(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "run", TINY, QUICK)
    with pytest.raises(ValueError, match="finished already"):
        train([store.path], tmp_path / "run", TINY, QUICK)
    (tmp_path / "run" / MANIFEST).rename(tmp_path / "run" / WRITING)
    with pytest.raises(ValueError, match="cannot be resumed"):
        train([store.path], tmp_path / "run", replace(TINY, seed=1), QUICK)
    with pytest.raises(ValueError, match="not finished"):
        load_network(tmp_path / "run")


def test_patience_ends_a_run(store: PatchStore, tmp_path: Path) -> None:
    recipe = replace(TINY, steps=60, learning_rate=1e-9, average=0.0)
    practice = Practice(validate_every=2, validate_patches=16, patience=2)
    steps: list[int] = []
    train([store.path], tmp_path / "run", recipe, practice, watch=lambda moment: steps.append(moment.step))
    assert steps[-1] < 60


def test_a_later_step_sees_what_the_one_before_chose(store: PatchStore, tmp_path: Path) -> None:
    first = replace(TINY, network="one-hot")
    train([store.path], tmp_path / "first", first, QUICK)
    trails = follow(Source((store,)), [load_network(tmp_path / "first")], 2)
    train([store.path], tmp_path / "second", first, QUICK, Earlier(after=(tmp_path / "first",)))
    np.testing.assert_array_equal(np.load(tmp_path / "second" / fit.TRAILS), trails)


def test_weights_can_be_taken_over(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "move", TINY, QUICK)
    recipe = replace(TINY, network="looks", frozen=True)
    train([store.path], tmp_path / "looks", recipe, QUICK, Earlier(tmp_path / "move"))
    for name in ("encoder.stem.0.weight", "encoder.stem.1.running_mean"):
        assert torch.equal(weights(tmp_path / "looks")[f"alone.{name}"], weights(tmp_path / "move")[name])
    with pytest.raises(ValueError, match="--start-from"):
        train([store.path], tmp_path / "x", recipe, QUICK)
    with pytest.raises(ValueError, match="no weights"):
        train(
            [store.path],
            tmp_path / "x",
            replace(TINY, network="one-hot", width=0.5),
            QUICK,
            Earlier(tmp_path / "move"),
        )


def test_a_network_of_looks_practises_its_own_searches(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "move", TINY, QUICK)
    recipe = replace(TINY, network="looks", frozen=True)
    whole = train([store.path], tmp_path / "whole", recipe, QUICK, Earlier(tmp_path / "move"))

    def stop(moment: Moment) -> None:
        if moment.step == 4:
            raise StopError

    with pytest.raises(StopError):
        train([store.path], tmp_path / "parts", recipe, QUICK, Earlier(tmp_path / "move"), watch=stop)
    assert train([store.path], tmp_path / "parts", recipe, QUICK, Earlier(tmp_path / "move")) == whole


def test_a_pupil_comes_to_believe_what_its_teacher_does(store: PatchStore, tmp_path: Path) -> None:
    train([store.path], tmp_path / "teacher", TINY, QUICK)
    network = load_network(tmp_path / "teacher")
    with torch.no_grad():  # this teacher always says: stay
        head = network.get_submodule("head.1")
        for one in (head.weight, head.bias):
            one.zero_()
        head.bias[6] = 9.0
    torch.save(network.state_dict(), tmp_path / "teacher" / fit.BEST)
    taught = replace(TINY, taught=1.0, steps=24, learning_rate=1e-2)
    train([store.path], tmp_path / "pupil", taught, QUICK, Earlier(teacher=tmp_path / "teacher"))
    stack = store.stack([3], [4])
    given = torch.from_numpy(stack.pixels), torch.tensor([[4]]), torch.zeros(1, 2)
    assert load_network(tmp_path / "pupil")(*given).argmax().item() == 4
    assert read_run(tmp_path / "pupil")["teacher"]["network"] == "move"
    with pytest.raises(ValueError, match="cannot teach I1"):
        train(
            [store.path],
            tmp_path / "x",
            replace(taught, problem=Problem.SINGLE_GREEN),
            QUICK,
            Earlier(teacher=tmp_path / "teacher"),
        )
    assert not (tmp_path / "x").exists()


def test_what_is_expected_weighs_what_is_believed(store: PatchStore, tmp_path: Path) -> None:
    stack = store.stack([3, 7, 8], [4])
    given = torch.from_numpy(stack.pixels), torch.full((3, 1), 4), torch.zeros(3, 2)
    beliefs = []
    for expects in ("even", "far"):
        train([store.path], tmp_path / expects, replace(TINY, expects=expects), QUICK)
        with torch.no_grad():
            beliefs.append(torch.softmax(load_network(tmp_path / expects)(*given), dim=1))
    even, far = beliefs
    weighed = even * torch.arange(7, 0, -1)
    torch.testing.assert_close(far, weighed / weighed.sum(dim=1, keepdim=True))
    trained = load_network(tmp_path / "far", as_trained=True)
    torch.testing.assert_close(torch.softmax(trained(*given), dim=1), even)


def test_only_a_simulated_store_knows_its_lens(store: PatchStore) -> None:
    source = Source((store,))
    np.testing.assert_array_equal(fit.targets(source, Recipe()), store.column("truth"))
    with pytest.raises(ValueError, match="--target label"):
        fit.targets(source, Recipe(target="optics"))


def test_a_second_answer_is_learned_and_forgotten(store: PatchStore, tmp_path: Path) -> None:
    plain, pupil = (replace(TINY, network="one-hot", moves=weight) for weight in (0.0, 1.0))
    train([store.path], tmp_path / "plain", plain, QUICK)
    train([store.path], tmp_path / "pupil", pupil, QUICK)
    assert weights(tmp_path / "pupil").keys() == weights(tmp_path / "plain").keys()
    name = "blocks.0.layers.0.weight"
    assert not torch.equal(weights(tmp_path / "pupil")[name], weights(tmp_path / "plain")[name])


TWO = """
import sys, torch
from pathlib import Path
from dioptre.train import network
from dioptre.train.fit import train
from dioptre.train.recipe import Practice, Recipe
torch.set_num_threads(1)
network.DROPOUT = 0.0
# Adam makes any tiny gradient a step of the same size; plain descent shows the gradient itself.
torch.optim.AdamW = lambda weights, lr, **_: torch.optim.SGD(weights, lr)
recipe = Recipe(network="move", width=0.25, steps=1, batch=8, learning_rate=1.0, average=0.0)
train([Path(sys.argv[1])], Path(sys.argv[2]), recipe, Practice(validate_every=1, validate_patches=8))
"""


def test_two_processes_learn_what_one_does(store: PatchStore, tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO)
    subprocess.run([sys.executable, str(script), str(store.path), str(tmp_path / "one")], check=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "USE_LIBUV": "0"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, str(script), str(store.path), str(tmp_path / "two")]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    start = fit.build(Recipe(network="move", width=0.25), 7).state_dict()
    moved = max(float((value - start[name]).abs().max()) for name, value in one.items())
    assert moved > 0.05
    for name, value in one.items():
        if "num_batches" not in name:
            torch.testing.assert_close(two[name], value, atol=1e-4, rtol=1e-3)
