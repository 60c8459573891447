"""Who does the work of a long job, if it is not this machine alone: the workers of a Dask scheduler.

The pieces are the same as on this machine (`dioptre.pipeline.executors`), and so are the bytes that they
write. Workers may be anywhere, as long as they see the same folders under the same paths and have the same
version of dioptre. The work of a worker that is lost is done again by another one.

This is the only door to `distributed`.
"""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dioptre import __version__
from dioptre.errors import InputError, MissingExtraError
from dioptre.pipeline.executors import local_executor
from dioptre.pipeline.settings import Simulation, Workers

if TYPE_CHECKING:
    from distributed import Client

PATIENCE_S = 10  # for a scheduler to answer, and for its first worker


def open_executor(workers: Workers) -> AbstractContextManager[Executor | None]:
    """Returns the executor of a job: processes on this machine, or the workers of a cluster."""
    return cluster_executor(workers.cluster) if workers.cluster else local_executor(workers.workers)


@contextmanager
def cluster_executor(address: str) -> Iterator[Executor]:
    """Yields the workers of a Dask scheduler that is running already.

    Left early, it drops what has not begun.

    Args:
        address: Of the scheduler, such as tcp://host:8786.

    Raises:
        InputError: If there is no scheduler, none of its workers comes, or one has another dioptre.
    """
    try:
        from distributed import Client  # noqa: PLC0415  # half a second
    except ImportError:
        raise MissingExtraError("a cluster needs Dask: pip install 'dioptre[cluster]'") from None
    try:
        client = Client(address, timeout=PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({str(error).splitlines()[0]}): start one with "
            "`dask scheduler`, and workers with `dask worker tcp://host:8786`"
        ) from None
    with client:
        _check_workers(client, address)
        executor = client.get_executor(pure=False)  # every piece is run, and run again if its worker is lost
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


def _check_workers(client: "Client", address: str) -> None:
    """Raises InputError if no worker comes, or if one has another dioptre or none."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except TimeoutError:
        raise InputError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        ) from None
    try:
        found = client.run(_version)
    except Exception as error:  # whatever a worker raises when it cannot import dioptre
        raise InputError(
            f"a worker of {address} cannot run dioptre ({error}): install it there, in version {__version__}"
        ) from None
    others = {worker: version for worker, version in found.items() if version != __version__}
    if others:
        worker, version = next(iter(others.items()))
        raise InputError(
            f"{len(others)} of {len(found)} workers have another dioptre than this one ({__version__}), "
            f"such as {worker} with {version}: the result would not be the same"
        )


def _version() -> str:
    """Returns the version of dioptre where this runs."""
    return __version__


# Paths that mean the same elsewhere


def shared_path(path: Path, workers: Workers) -> Path:
    """Returns a path that means the same to all workers, whatever folder they were started in."""
    return path.absolute() if workers.cluster else path


def shared_simulation(simulation: Simulation, workers: Workers) -> Simulation:
    """Returns a simulation whose files mean the same to all workers."""

    def shared(text: str) -> str:
        return str(shared_path(Path(text), workers)) if text and Path(text).exists() else text

    return replace(
        simulation,
        camera=shared(simulation.camera),
        textures=shared(simulation.textures),
        prior=shared(simulation.prior),
    )
