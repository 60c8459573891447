"""Big stacks: time and memory of `dioptre.focus` against a plain OpenCV loop, in one run.

    python -m lab.speed.streaming [FOLDER] [--slices 50]

Writes JPEG pictures of 12 and 6 megapixels (a texture through focus), uncompressed TIFF and an .npy, into
FOLDER or a temporary one. Each contender then runs five times in turn, each time in a process of its own,
after one run that nobody times, so that the pictures are in the system's cache and the kernels compiled:

    laplacian   cv2.imread(..., IMREAD_GRAYSCALE), cv2.Laplacian(..., CV_64F).var(): the loop people write
    focus       dioptre.focus(folder): the default measure of the whole frame, its tiles and its verdict
    decoding    cv2.imread(..., IMREAD_UNCHANGED), and nothing else
    region      dioptre.focus(folder, roi=...) of 256 x 256 pixels
    all 37      every contrast measure of the paper, one after the other, of three slices
    map         what `dioptre map` makes of three slices and of all, patches of 256 pixels

Time is what passes and what the processors do, the best of five, without starting Python; memory is the
peak.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
import tifffile

from dioptre.focusing.focus import focus
from dioptre.methods import METHODS
from dioptre.pipeline.mapping import map_stack
from dioptre.pipeline.settings import Mapping as Settings
from dioptre.problem import Problem
from dioptre.stacks.formats import open_pictures

SIZES: Mapping[str, tuple[int, int]] = {"12": (3000, 4000), "6": (2000, 3000)}
ROI = (1200, 800, 256, 256)
TURNS = 5


def laplacian(folder: Path) -> int:
    """Returns the sharpest picture as people find it."""
    found = []
    for file in sorted(folder.glob("*.jpg")):
        grey = np.asarray(cv2.imread(str(file), cv2.IMREAD_GRAYSCALE))
        found.append(cv2.Laplacian(grey, cv2.CV_64F).var())
    return int(np.argmax(found))


def decoding(folder: Path) -> int:
    """Returns how many pictures there are, having decoded them."""
    return sum(cv2.imread(str(file), cv2.IMREAD_UNCHANGED) is not None for file in folder.glob("*.jpg"))


def whole(path: Path) -> int:
    """Returns the sharpest picture by the default measure."""
    return focus(path).index


def region(path: Path) -> int:
    """Returns the sharpest picture of a region."""
    return focus(path, roi=ROI).index


def every(path: Path) -> int:
    """Returns how many contrast measures agree with the default one."""
    keys = [key for key, row in METHODS.items() if row.problem is Problem.STACK_GREEN and row.in_paper]
    found = [focus(path, key).index for key in keys if not key.startswith("l2a-")]
    return found.count(whole(path))


def mapped(path: Path) -> int:
    """Returns how many bytes the files of a map have."""
    how = Settings(size=256, stride=128)
    _, files = map_stack(open_pictures(path), None, how, lambda _done, _total: None)
    return sum(map(len, files.values()))


CONTENDERS: Mapping[str, Callable[[Path], int]] = {
    "laplacian": laplacian, "decoding": decoding, "focus": whole, "region": region, "all 37": every,
    "map": mapped,
}  # fmt: skip


def write_stacks(folder: Path, slices: int) -> None:
    """Writes a texture through focus, in every form."""
    rng = np.random.default_rng(0)
    for name, (rows, cols) in SIZES.items():
        home = folder / f"{name}-megapixels"
        home.mkdir(parents=True, exist_ok=True)
        base = rng.integers(0, 255, (rows, cols, 3), dtype=np.uint8)
        kept = []
        for at in range(slices):
            sigma = 0.8 + 0.12 * abs(at - 0.6 * slices)
            soft = cv2.GaussianBlur(base, (0, 0), sigma)
            shown = cv2.convertScaleAbs(soft, alpha=2.0, beta=-120)
            cv2.imwrite(str(home / f"f{at:03}.jpg"), shown, [cv2.IMWRITE_JPEG_QUALITY, 92])
            if name == "6":
                kept.append(np.ascontiguousarray(shown[..., 1]))
        if kept:
            tifffile.imwrite(folder / "stack.tif", np.stack(kept), photometric="minisblack")
            np.save(folder / "stack.npy", np.stack(kept))
    few = folder / "three"
    few.mkdir(exist_ok=True)
    for at in range(3):
        (few / f"f{at}.jpg").write_bytes((folder / "12-megapixels" / f"f{at:03}.jpg").read_bytes())


def run(name: str, path: Path) -> dict[str, float]:
    """Returns what a contender takes, in a process of its own."""
    command = [sys.executable, "-m", "lab.speed.streaming", "--contender", name, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def peak_megabytes() -> float:
    """Returns the most memory that this process had; of `getrusage` a child inherits what its parent had."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    return int(lines["VmHWM"].split()[0]) / 1e3


def contend(name: str, path: Path) -> None:
    """Prints what a contender takes in this process."""
    focus(np.random.default_rng(0).random((3, 64, 64)).astype(np.float32))  # kernels are loaded
    began, cpu = time.perf_counter(), time.process_time()
    answer = CONTENDERS[name](path)
    took = {
        "wall": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "mb": peak_megabytes(),
        "answer": answer,
    }
    print(json.dumps(took))


def table(rows: Sequence[tuple[str, str, Path]]) -> None:
    """Prints the best of some runs of each row, and its ratio to the row that it is compared with."""
    for name, _, path in rows:
        run(name, path)
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(TURNS):
        for name, _, path in rows:
            found.setdefault(f"{name} {path.name}", []).append(run(name, path))
    best = {key: {one: min(run[one] for run in runs) for one in runs[0]} for key, runs in found.items()}
    print(f"{'':<28}{'time (s)':>10}{'processor (s)':>15}{'memory (MB)':>13}{'ratio':>8}{'processor':>11}")
    for name, other, path in rows:
        mine = best[f"{name} {path.name}"]
        against = next((best[f"{one} {home.name}"] for one, _, home in rows if one == other), mine)
        ratios = f"{mine['wall'] / against['wall']:>8.2f}{mine['cpu'] / against['cpu']:>11.2f}"
        took = f"{mine['wall']:>10.2f}{mine['cpu']:>15.2f}{mine['mb']:>13.0f}{ratios}"
        print(f"{name + ' ' + path.name:<28}{took}")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--slices", type=int, default=50)
    parser.add_argument("--contender")
    asked = parser.parse_args()
    if asked.contender:
        contend(asked.contender, asked.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = asked.folder or Path(temporary)
        if not (home / "stack.npy").exists():
            write_stacks(home, asked.slices)
        big, small = home / "12-megapixels", home / "6-megapixels"
        table([("laplacian", "laplacian", big), ("focus", "laplacian", big)])
        table(
            [
                ("decoding", "decoding", small),
                ("region", "decoding", small),
                ("region", "decoding", home / "stack.tif"),
                ("region", "decoding", home / "stack.npy"),
            ]
        )
        table([("all 37", "all 37", home / "three")])
        table([("map", "map", home / "three"), ("map", "map", big)])


if __name__ == "__main__":
    main()
