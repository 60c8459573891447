"""Long commands on small inputs, and how they are started: by a fork of a process that has loaded everything.

A command that starts anew spends seconds on imports and on loading kernels, and a random moment then mostly
falls there. Here the process that starts commands has imported all of it and has run the compiled ones once,
so that a command is where it works after milliseconds, and hundreds of trials take minutes. What it writes is
cut into smaller parts than usual, so that there is more to resume. Some jobs are started anew all the same,
by `python -m dioptre`: their imports and workers are part of what is interrupted.
"""

import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import NoReturn

import cv2
import numpy as np
import OpenEXR

import dioptre.cli
from dioptre.optics import CameraModel
from dioptre.store.labels import metres_to_code
from dioptre.store.patches import StoreFormat, StoreWriter
from dioptre.store.published.frames import unrotate_frame

FAULT = 70  # exit code of dioptre's own faults
EARLY = 200  # exit code of a fork that was stopped before dioptre's first line, or after its last
OUT = "OUT"  # stands for what a command writes
FRAME = (256, 256)
CAMERA = """name = "small"
focal_length_mm = 4.38
f_number = 1.73
pixel_pitch_um = 2.8
frame = [256, 256]
[grid]
far_m = 4.0
near_m = 0.1
n = 5
"""
CAPTURE = 'camera = "../camera.toml"\nscene = "{name}"\nsplit = "train"\ndepth = "depth.npy"\n'
SMALL = "--network move --width 0.25 --steps 8 --batch 4 --validate-every 2 --validate-patches 4"
EXEC_ONCE = {"GLIBC_TUNABLES": "", "OMP_NUM_THREADS": "1"}  # nothing starts itself again, nor threads


@dataclass(frozen=True)
class Job:
    """A long command.

    Attributes:
        arguments: Its words, with OUT in the place of what it writes.
        ending: Of what it writes, if that is a file.
        slow: Whether it takes so long that it gets fewer trials.
        anew: Whether it is started by `python -m dioptre`, not by a fork.
    """

    arguments: tuple[str, ...]
    ending: str = ""
    slow: bool = False
    anew: bool = False

    def words(self, out: Path) -> list[str]:
        """Returns its words with what it writes."""
        return [str(out) if word == OUT else word for word in self.arguments]


# Inputs


def make_jobs(root: Path) -> dict[str, Job]:
    """Writes small inputs below a folder, and returns all long commands that read them."""
    root.mkdir(parents=True, exist_ok=True)
    camera = root / "camera.toml"
    camera.write_text(CAMERA, encoding="utf-8")
    store, one = str(_write_store(root / "store", CameraModel.from_toml(camera))), ("--workers", "1")
    methods = "local-norm-dist-sq-4,intensity-variance"
    simulate = ("simulate", OUT, "--patches", "4", "--seed", "7", "--camera", str(camera))
    predict = ("predict", store, OUT, "--methods", methods, "--split", "all", "--starts", "2")
    own = ("import", str(_write_own(root / "own")), OUT)
    published = _write_published(root / "published")
    archive = _write_archive(published / "train1", root / "train1.tar.gz")
    found = {
        "simulate": Job((*simulate, *one)),
        "import-own": Job((*own, *one)),
        "import-tree": Job(("import", str(published), OUT, *one)),
        "import-archive": Job(("import", str(archive), OUT, *one)),
        "register": Job(("register", store, OUT, "--camera", str(camera), *one)),
        "predict": Job((*predict, *one)),
        "simulate-two-workers": Job((*simulate, "--workers", "2"), slow=True),
        "predict-two-workers": Job((*predict, "--workers", "2"), slow=True),
        "import-anew": Job((*own, "--workers", "2"), slow=True, anew=True),
    }
    run_now([*predict[:2], str(root / "predictions"), *predict[3:], *one])
    found["report"] = Job(("report", str(root / "predictions"), OUT), slow=True)
    found["calibrate"] = Job(
        ("calibrate", store, OUT, "--camera", str(camera), "--split", "all", "--starts", "2"), ".toml"
    )
    found["map"] = Job(("map", str(root / "own" / "desk_0" / "slices"), OUT, "--size", "64"))
    captures = ("simulate", OUT, "--captures", "1", "--frame", "128x128", "--seed", "7", "--exact-lens", *one)
    found["captures"] = Job(captures, slow=True)
    if find_spec("torch"):
        found["train"] = Job(("train", store, OUT, *SMALL.split()))
    return found


def _write_store(path: Path, camera: CameraModel, patches: int = 8, size: int = 128) -> Path:
    """Writes a store of noise, softer and shifted between views the farther from a truth."""
    form = StoreFormat(camera.grid, size, 2, 64.0, 4095.0, rows_per_native=1)
    writer, rng = StoreWriter(path, form, {"seed": 1}, patches, 4), np.random.default_rng(1)
    for number in writer.missing_shards():
        codes, rows = [], []
        for at in writer.patches(number):
            noise, truth = rng.uniform(500, 3500, (size, size)).astype(np.float32), at % len(camera.grid)
            views = []
            for k in range(len(camera.grid)):
                soft = cv2.GaussianBlur(noise, (0, 0), 0.5 + abs(k - truth))
                views.append([np.roll(soft, (k - truth) // 2, 1), np.roll(soft, (truth - k) // 2, 1)])
            codes.append(np.array(views).astype(np.uint16))
            row, col = 48 + 16 * (at % 3), 48 + 16 * (at // 3)
            where = {"where_x": (col + size / 2) / 128 - 1, "where_y": (row + size / 2) / 128 - 1}
            split = "validation" if at >= patches - 3 else "train"
            rows.append(
                {
                    "scene": str(at),
                    "capture": "c",
                    "split": split,
                    "row": row,
                    "col": col,
                    "truth": truth,
                    **where,
                }
            )
        writer.write_shard(number, np.array(codes), rows)
    writer.finish()
    return path


def _write_own(source: Path, captures: int = 4) -> Path:
    rng = np.random.default_rng(0)
    for number in range(captures):
        folder = source / f"desk_{number}"
        (folder / "slices").mkdir(parents=True)
        (folder / "capture.toml").write_text(CAPTURE.format(name=folder.name), encoding="utf-8")
        np.save(folder / "depth.npy", np.ones(FRAME, np.float32))
        for at in range(5):
            codes = rng.integers(0, 65535, FRAME, dtype=np.uint16)
            cv2.imwrite(str(folder / "slices" / f"{at}.png"), codes)
    (source / "camera.toml").write_text(CAMERA, encoding="utf-8")
    return source


def _write_published(root: Path) -> Path:
    """Writes a tree as the published one, of tiny frames of noise, and returns its root."""
    rng, (rows, cols) = np.random.default_rng(0), (128, 256)
    for part, capture in (("train1", "apt1_0"), ("train1", "apt2_0"), ("test", "home1_3")):
        codes = rng.integers(64, 1023, (rows // 2, cols), dtype=np.uint16) << 4
        portrait = cv2.imencode(".png", np.ascontiguousarray(unrotate_frame(codes, "ccw")))[1].tobytes()
        for at in range(49):
            for side in ("left", "right"):
                file = root / part / f"raw_{side}_pd/{capture}/{at}/result_pd_{side}_center.png"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(portrait)
        depth = np.full((cols // 4, rows // 4), np.rint(metres_to_code(0.5)), np.uint8)
        file = root / part / f"merged_depth/{capture}/result_merged_depth_center.png"
        file.parent.mkdir(parents=True)
        cv2.imwrite(str(file), depth)
        file = root / part / f"merged_conf/{capture}/result_merged_conf_center.exr"
        file.parent.mkdir(parents=True)
        header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {"R": np.ones(depth.shape, np.float32)}).write(str(file))
    return root


def _write_archive(part: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for folder in sorted(part.iterdir()):
            tar.add(folder, arcname=f"{part.name}/{folder.name}")
    return archive


# Starting


def warm_up(jobs: Mapping[str, Job], root: Path) -> None:
    """Imports what commands import, cuts what they write into small parts, and runs the compiled ones once.

    Nothing is run here that leaves threads behind, which a fork would lose.
    """
    os.environ.update(EXEC_ONCE)
    import matplotlib.figure  # noqa: F401, PLC0415  # as all of these, to have it loaded
    import onnxruntime  # noqa: F401, PLC0415

    from dioptre.pipeline import (  # noqa: F401, PLC0415
        calibrating,
        importing,
        mapping,
        predicting,
        registering,
        report_figures,
        reporting,
        simulate,
        simulate_captures,
    )

    cv2.setNumThreads(1)
    simulate.simulate = partial(simulate.simulate, shard_size=1)
    registering.register = partial(registering.register, shard_size=2)
    predicting.PATCHES = 2
    if "train" in jobs:
        from dioptre.train import fit  # noqa: F401, PLC0415
    for name in ("simulate", "register", "import-own", "predict"):
        if name in jobs:
            run_now(jobs[name].words(root / f"warm-{name}"))


def run_now(words: Sequence[str]) -> None:
    """Runs a command in this process.

    Raises:
        RuntimeError: If it fails.
    """
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = dioptre.cli.main(words)
    if code:
        raise RuntimeError(f"dioptre {' '.join(words)} ended with exit code {code}")


def start(job: Job, out: Path, said: Path) -> int:
    """Starts a command in a session of its own, with its stderr in a file; returns its process."""
    words = job.words(out)
    if job.anew:
        with said.open("wb") as file:
            return subprocess.Popen(  # noqa: S603  # ours
                [sys.executable, "-m", "dioptre", *words],
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            ).pid
    number = os.fork()
    if number == 0:
        _become(words, said)
    while not _leads(number):  # or there is no group yet to be stopped
        time.sleep(0.0001)
    return number


def _leads(process: int) -> bool:
    """Returns whether a process leads a group of its own, or has ended already."""
    try:
        return os.getpgid(process) == process
    except ProcessLookupError:
        return True


def _become(words: Sequence[str], said: Path) -> NoReturn:
    """Makes this process, just forked, a command; never returns."""
    code = FAULT
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with said.open("wb") as file:
            os.dup2(file.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        sys.argv = ["dioptre", *words]
        dioptre.cli.entry()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else FAULT
    except KeyboardInterrupt:  # before or after a line of ours has run
        code = EARLY
    finally:
        os._exit(code)


def wait(process: int, seconds: float) -> int | None:
    """Returns how a command ended, its exit code or minus its signal; None if it has not after a time."""
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            return None
        time.sleep(0.001)
