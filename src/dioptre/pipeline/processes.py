"""Work shared among processes that this one starts.

None of them outlives the one that started it, however that ends: what is resumed after a kill has no rival
that still writes the same files.
"""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(
    task: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Generator[Result, None, None]:
    """Yields what a task makes of each item, in order; closed early, it drops what has not begun.

    Args:
        task: What several processes do at the same time, or this one if there is one worker.
        items: What with.
        workers: How many processes.
    """
    if workers <= 1:
        yield from map(task, items)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent)
    try:
        yield from pool.map(task, items)
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Lets this process end when the one that started it does: a killed one cannot tell it to."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
