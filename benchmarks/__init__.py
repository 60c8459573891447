"""What is fast, against what, in one run: `python -m benchmarks.NAME`.

The speed tables come with the package, for `dioptre bench` (dioptre.bench), and are found from here too.
"""

from dioptre import bench

__path__ = [*__path__, *bench.__path__]
