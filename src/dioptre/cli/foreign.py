"""What libraries print by themselves: never on our stdout or stderr.

Libraries written in C (libpng, libjpeg, OpenEXR, ONNX Runtime) print to the file descriptors 1 and 2, behind
Python's back. So Python's streams get descriptors of their own, once for the whole process, and 1 and 2 lead
to a file that is shown only beside a fault of dioptre's. That costs nothing for each picture, holds in every
thread, and worker processes inherit it.
"""

import faulthandler
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TextIO

SHOWN = 2000  # characters of what libraries said, at most


@contextmanager
def keep_out_foreign_lines() -> Iterator[BinaryIO | None]:
    """Yields a file that takes whatever is printed, but not by way of Python's streams.

    Where the streams are not files (in a notebook, or closed), nothing is changed, and None comes.
    """
    out, err = sys.stdout, sys.stderr
    try:
        own = [_reopen(out, 1), _reopen(err, 2)]
    except (AttributeError, OSError, ValueError):
        yield None
        return
    before = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as sink:
        for number in (1, 2):
            os.dup2(sink.fileno(), number)
        sys.stdout, sys.stderr = own
        faulthandler.enable(own[1])
        try:
            yield sink
        finally:
            for stream in own:
                with suppress(OSError, ValueError):
                    stream.flush()
            faulthandler.disable()
            sys.stdout, sys.stderr = out, err
            for number, kept in zip((1, 2), before, strict=True):
                os.dup2(kept, number)
                os.close(kept)
            for stream in own:
                with suppress(OSError):
                    stream.close()


def _reopen(stream: TextIO, number: int) -> TextIO:
    """Returns a stream like this one with a descriptor of its own."""
    if stream.fileno() != number:
        raise ValueError(f"the stream has the descriptor {stream.fileno()}, not {number}")
    stream.flush()
    return os.fdopen(
        os.dup(number), "w", encoding=stream.encoding, errors=stream.errors, buffering=1, closefd=True
    )


def last_lines(sink: BinaryIO | None) -> str:
    """Returns the end of what libraries have printed."""
    if sink is None:
        return ""
    size = sink.seek(0, os.SEEK_END)
    sink.seek(max(0, size - SHOWN))
    return sink.read().decode(errors="replace")
