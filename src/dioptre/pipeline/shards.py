"""How a store is filled: every shard that is missing is a piece."""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from dioptre.pipeline.executors import run_counted
from dioptre.store.patches import StoreWriter


def write_shards(
    writer: StoreWriter,
    write: Callable[[int], int],
    executor: Executor | None,
    done: Callable[[int, int], None],
) -> None:
    """Writes the shards of a store that are missing, then what makes it complete.

    Args:
        writer: Of the store.
        write: Writes the shard of a number and returns how many patches it holds.
        executor: Who does it; None for this process.
        done: Called with the number of patches written and of all.
    """
    missing = writer.missing_shards()
    finished = writer.total - sum(len(writer.patches(number)) for number in missing)
    pieces = [partial(write, number) for number in missing]
    run_counted(pieces, executor, finished, writer.total, done)
    writer.finish()
