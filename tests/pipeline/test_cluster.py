import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from dioptre.errors import FileError, InputError
from dioptre.pipeline import predicting
from dioptre.pipeline.cluster import cluster_executor, open_executor, shared_path, shared_simulation
from dioptre.pipeline.executors import run_pieces
from dioptre.pipeline.predicting import predict_store
from dioptre.pipeline.reconstructing import reconstruct
from dioptre.pipeline.settings import Prediction, Reconstruct, Simulation, Workers
from dioptre.pipeline.simulate import simulate
from tests.marks import slow
from tests.store.published_tree import write_tree

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="a base install has no Dask")
SOME = Simulation(6, 5, split="test")
SHARD = 1


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a part of Dask's command line; it is gone at the end."""
    command = [sys.executable, "-m", *words]
    quiet, paths = subprocess.DEVNULL, {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=os.environ | paths) as running:
        try:
            yield running
        finally:
            running.kill()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def scheduler() -> Iterator[str]:
    port = free_port()
    where = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    with process("distributed.cli.dask_scheduler", *where):
        yield f"tcp://127.0.0.1:{port}"


def worker(address: str, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    how = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
    return process("distributed.cli.dask_worker", address, *how)


@contextmanager
def two_workers(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yields a scheduler with two workers: its address, and the first worker."""
    with scheduler() as address, worker(address, folder) as one, worker(address, folder):
        yield address, one


def content(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


def slow_write(folder: Path, number: int) -> int:
    """Marks who does a piece, and takes its time."""
    (folder / f"{number}-{os.getpid()}").touch()
    time.sleep(0.4)
    return number


@needs_dask
def test_a_store_is_the_same_to_the_byte_wherever_it_is_made(tmp_path: Path) -> None:
    with two_workers(tmp_path) as (address, _), cluster_executor(address) as executor:
        simulate(tmp_path / "cluster", SOME, executor, lambda *_: None, SHARD)
    simulate(tmp_path / "here", SOME, None, lambda *_: None, SHARD)
    assert content(tmp_path / "cluster") == content(tmp_path / "here")


@needs_dask
@slow
def test_predictions_are_the_same_to_the_byte_wherever_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicting, "PATCHES", 1)  # in a part
    data = tmp_path / "data"
    simulate(data, Simulation(3, 5, split="test"), None, lambda *_: None)
    wanted = Prediction("rank-transform,laplacian-variance,zncc-disparity", starts=2)
    with two_workers(tmp_path) as (address, _), cluster_executor(address) as executor:
        predict_store(data, tmp_path / "cluster", wanted, executor, lambda *_: None)
    predict_store(data, tmp_path / "here", wanted, None, lambda *_: None)
    there, here = content(tmp_path / "cluster"), content(tmp_path / "here")
    timed = [name for name in here if name.endswith(".json") and name != "manifest.json"]
    assert len(timed) == 3 + 1
    assert {name: there[name] for name in there if name not in timed} == {
        name: here[name] for name in here if name not in timed
    }


@needs_dask
@slow
def test_a_reconstruction_says_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    """Both rounds of pieces go to the workers: what a capture says of its rig, and what becomes of it."""
    source = write_tree(tmp_path / "captures", {"train1": ["apt1_0", "apt2_0"]})

    def said(out: Path, executor: Executor | None) -> str:
        with pytest.raises(FileError, match="could be reconstructed") as refused:
            reconstruct(source, out, Reconstruct(), executor, lambda *_: None)
        return str(refused.value)

    with two_workers(tmp_path) as (address, _), cluster_executor(address) as executor:
        there = said(tmp_path / "cluster", executor)
    assert there == said(tmp_path / "here", None)
    files = content(tmp_path / "cluster")
    assert sorted(name.rpartition("/")[2] for name in files if "apt2_0" in name) == [
        "outcome.json",
        "told.json",
    ]
    assert files == content(tmp_path / "here")


@needs_dask
@slow
def test_the_work_of_a_killed_worker_is_done_again(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    with two_workers(tmp_path) as (address, one), cluster_executor(address) as executor:
        pieces = [partial(slow_write, marks, number) for number in range(12)]
        results = run_pieces(pieces, executor)
        found = [next(results)]
        while not list(marks.glob(f"*-{one.pid}")):
            found.append(next(results))
        one.kill()
        found += results
    assert found == list(range(12))
    assert {int(mark.name.split("-")[0]) for mark in marks.iterdir()} == set(range(12))


@needs_dask
@slow
def test_a_cluster_that_is_not_there_or_idle_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dioptre.pipeline.cluster.PATIENCE_S", 1)
    nobody = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(InputError, match="no Dask scheduler answers"), cluster_executor(nobody):
        pass
    with pytest.raises(InputError, match="no Dask scheduler answers"), cluster_executor("nonsense://x"):
        pass
    monkeypatch.setattr("dioptre.pipeline.cluster.PATIENCE_S", 8)
    with (
        scheduler() as address,
        pytest.raises(InputError, match="has no workers"),
        cluster_executor(address),
    ):
        pass


def test_without_a_cluster_this_machine_does_it() -> None:
    with open_executor(Workers(workers=1)) as executor:
        assert executor is None


def test_paths_mean_the_same_to_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").touch()
    here, there = Workers(), Workers(cluster="tcp://host:8786")
    assert shared_path(Path("out"), here) == Path("out")
    assert shared_path(Path("out"), there) == tmp_path / "out"
    simulation = Simulation(camera="my.toml", prior="far")
    assert shared_simulation(simulation, here) == simulation
    assert shared_simulation(simulation, there) == Simulation(camera=str(tmp_path / "my.toml"), prior="far")
