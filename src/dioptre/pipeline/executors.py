"""Who does the work of a long job: pieces, and the executor that runs them.

A **piece** is a function with all of its arguments (`functools.partial`). It can be pickled, depends on no
other piece, and done twice it writes the same bytes. Any `concurrent.futures.Executor` can run pieces; the
one that is made here has processes on this machine. None of them outlives the one that started it, however
that ends: what is resumed after a kill has no rival that still writes the same files.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

from dioptre.errors import InputError
from dioptre.resources import THREADS, workers

GRACE_S = 1.0

Result = TypeVar("Result")
Piece = Callable[[], Result]


def run_pieces(pieces: Iterable[Piece[Result]], executor: Executor | None) -> Generator[Result, None, None]:
    """Yields what each piece returns, in their order, whichever is done first.

    Closed early, or after a piece has raised, it drops what has not begun.

    Args:
        pieces: The work.
        executor: Who does it; None for this process, a piece at a time.

    Raises:
        ChildProcessError: If a process of the executor was ended from outside.
    """
    if executor is None:
        for piece in pieces:
            yield piece()
        return
    with _ctrl_c_held_back():
        begun = deque(executor.submit(piece) for piece in pieces)
    try:
        while begun:
            yield begun.popleft().result()
    except KeyboardInterrupt:
        begun.clear()  # whoever holds the executor ends it: cancelling here as well would race with that
        raise
    except BrokenExecutor:
        begun.clear()  # ended already
        time.sleep(GRACE_S)  # Ctrl-C ends workers and this process, in any order: it is not their fault then
        raise ChildProcessError(
            "a worker process was ended from outside, perhaps for want of memory: what is done is kept, and "
            "fewer --workers need less"
        ) from None
    finally:
        for waiting in begun:
            waiting.cancel()


def run_counted(
    pieces: Iterable[Piece[int]],
    executor: Executor | None,
    finished: int,
    total: int,
    done: Callable[[int, int], None],
) -> None:
    """Runs pieces that return how much they did, and tells how much of all is done.

    Args:
        pieces: The work that is left.
        executor: Who does it; None for this process.
        finished: How much was done before.
        total: How much there is.
        done: Called with how much is done and of all, before the first piece and after each.
    """
    done(finished, total)
    with closing(run_pieces(pieces, executor)) as counts:
        for count in counts:
            finished += count
            done(finished, total)


@contextmanager
def local_executor(count: int = 0) -> Iterator[Executor | None]:
    """Yields processes on this machine to run pieces; None if it is one, for that can be this one.

    The cores are shared: each process is told how many of them it may use. Left early, it drops what has not
    begun.

    Args:
        count: How many processes; 0 for one a core.
    """
    if count < 0:
        raise InputError(f"the number of workers is positive, or 0 for one a core, not {count}")
    count = count or workers()
    if count == 1:
        yield None
        return
    pool = ProcessPoolExecutor(
        count, get_context("spawn"), initializer=_begin_worker, initargs=(max(1, workers() // count),)
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Lets Ctrl-C wait while processes are started, and in them until they have begun to be workers.

    Each would print a traceback of its imports otherwise.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(threads: int) -> None:
    """Leaves the other cores to the other processes, and ends at Ctrl-C and when its parent does."""
    os.environ[THREADS] = str(threads)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once, and silently: files are whole, or not there
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_wait_for_parent, daemon=True).start()  # a killed parent cannot tell its processes to end


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
