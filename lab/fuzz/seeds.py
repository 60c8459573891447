"""Small good files of every kind that dioptre reads, made on the spot, and what reads them."""

import io
import json
import socket
import tarfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import OpenEXR
import tifffile

from dioptre.cameras.camera_files import describe
from dioptre.errors import ArchiveError, CaptureFileError
from dioptre.evaluate.examples import ExampleSet, read_gallery
from dioptre.evaluate.predict import SCHEMA
from dioptre.evaluate.provenance import Provenance
from dioptre.grid import FocusGrid
from dioptre.methods import depth_network, learned
from dioptre.methods.calibration import SHIPPED, Calibration
from dioptre.optics import CameraModel
from dioptre.pipeline import predicting, reporting
from dioptre.pipeline.output_files import write_all
from dioptre.pipeline.predictions import check_predictions
from dioptre.pipeline.verifying import verify
from dioptre.posterior import DepthPrior
from dioptre.stack import FocalStack
from dioptre.stacks.formats import open_look, read_photographs, read_pictures
from dioptre.stacks.positions import read_positions
from dioptre.store.captures import CaptureWriter
from dioptre.store.depth_images import DepthImages, DepthImageWriter
from dioptre.store.lock import locked
from dioptre.store.manifest import WRITING, begin_folder, read_json, write_file, write_json
from dioptre.store.maps import read_map
from dioptre.store.own_captures import OwnCapture, read_table
from dioptre.store.parquet import write_parquet
from dioptre.store.patches import StoreFormat, StoreWriter, open_patches
from dioptre.store.published.archives import read_archive
from dioptre.store.published.frames import decode_frame
from dioptre.store.schema import OUTCOME, RIG, TOLD, Schema
from lab.fuzz.formats import make_format_seeds
from lab.fuzz.seed import Seed, bytes_of, codes_of, make_seed, read_and_sum, read_named

GRID = FocusGrid.uniform(10.0, 0.1, 5)
FORM = StoreFormat(GRID, size=16, views=2, black=0.0, white=4095.0)
ROW: dict[str, object] = {
    "scene": "a", "capture": "c", "split": "test", "row": 0, "col": 0, "truth": 1, "where_x": 0.0,
    "where_y": 0.5,
}  # fmt: skip
HASH = "0" * 64
NAMES = tuple(f"IMG_{at}.png" for at in range(5))


def make_seeds(root: Path) -> list[Seed]:
    """Writes the seeds below a folder; those of extras that are not there are left out."""
    makers = [_pictures, _stacks, _maps, _tables, _cameras, _stores, _predictions, _archives, _begun]
    makers += [_reports, _wide, _rigs, _photographs, make_format_seeds]
    makers += [_networks] if find_spec("onnx") else []
    makers += [_runs] if find_spec("torch") else []
    return [seed for make in makers for seed in make(root)]


def _pictures(root: Path) -> Iterator[Seed]:
    for suffix in (".png", ".jpg", ".tif", ".bmp", ".pgm", ".webp"):
        for kind, shape in (("grey", (16, 20)), ("colour", (16, 20, 3))):
            deep = suffix in (".png", ".tif", ".pgm") and kind == "grey"
            pixels = codes_of(*shape) if deep else (codes_of(*shape) >> 8).astype(np.uint8)
            if suffix == ".pgm" and kind == "colour":
                continue
            content = cv2.imencode(suffix, pixels)[1].tobytes()
            files = {f"f{at}{suffix}": content for at in range(3)}
            yield make_seed(root, f"{kind}{suffix}", files, read_pictures)
    one = cv2.imencode(".png", codes_of(16, 20))[1].tobytes()
    views = {"a_left.png": one, "a_right.png": one}
    yield make_seed(root, "look", views, lambda folder: open_look(folder / "a_left.png").loaded())


def _stacks(root: Path) -> Iterator[Seed]:
    codes = codes_of(4, 2, 16, 16)
    files = {
        "stack.npy": bytes_of(lambda file: np.save(file, codes)),
        "stack.npz": bytes_of(lambda file: np.savez_compressed(file, stack=codes, other=codes)),
        "stack.tif": bytes_of(lambda file: tifffile.imwrite(file, codes[:, 0], photometric="minisblack")),
    }
    for name, content in files.items():
        yield make_seed(root, f"stack-{name}", {name: content}, partial(read_named, read_and_sum, name))


def _maps(root: Path) -> Iterator[Seed]:
    depth = np.ones((12, 9), np.float32)
    exr = root / "seed.exr"
    root.mkdir(parents=True, exist_ok=True)
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"R": depth}).write(str(exr))
    files = {
        "map.exr": exr.read_bytes(),
        "map.npy": bytes_of(lambda file: np.save(file, depth)),
        "map.png": cv2.imencode(".png", codes_of(12, 9))[1].tobytes(),
    }
    for name, content in files.items():
        yield make_seed(root, f"map-{name}", {name: content}, partial(read_named, read_map, name))


def _tables(root: Path) -> Iterator[Seed]:
    rows = b"name,position\n" + b"".join(f"{name},{0.5 * at}\n".encode() for at, name in enumerate(NAMES))
    yield make_seed(
        root, "positions", {"p.csv": rows}, lambda folder: read_positions(str(folder / "p.csv"), NAMES)
    )
    labels = b"row,col,index\n0,0,1\n16,16,3\n"
    yield make_seed(
        root, "labels", {"l.csv": labels}, lambda folder: read_table(folder / "l.csv", GRID, (64, 64), 16)
    )
    prior = {"prior.txt": b"3, 2\n1 1 1\n"}
    yield make_seed(
        root, "prior", prior, lambda folder: DepthPrior.parse(str(folder / "prior.txt")).weights(5)
    )


def _cameras(root: Path) -> Iterator[Seed]:
    camera = root / "seed.toml"
    CameraModel.pixel3().to_toml(camera)
    thin = camera.read_bytes()
    even = (
        b'name = "x"\nfocal_length_mm = 4.4\nf_number = 1.8\npixel_pitch_um = 2.8\nframe = [64, 64]\n'
        b"[grid]\nfar_m = 4.0\nnear_m = 0.1\nn = 9\n"
    )
    two = b'name = "z"\ngrowth_px = 0.5\nunit = "um"\n'
    for name, content in (("thin", thin), ("even", even)):
        files = {"camera.toml": content}
        yield make_seed(
            root, f"camera-{name}", files, lambda folder: CameraModel.from_toml(folder / "camera.toml")
        )
        yield make_seed(root, f"steps-{name}", files, lambda folder: describe(str(folder / "camera.toml")))
    yield make_seed(
        root, "steps-two", {"camera.toml": two}, lambda folder: describe(str(folder / "camera.toml"))
    )
    calibration = {"c.toml": (SHIPPED / "center.toml").read_bytes()}
    yield make_seed(root, "calibration", calibration, lambda folder: Calibration.from_toml(folder / "c.toml"))
    own = (
        b'camera = "camera.toml"\nscene = "desk"\nsplit = "train"\norder = "near-to-far"\n'
        b'depth = "depth.npy"\ndepth_unit = "m"\nblack = 64.0\nwhite = 1023.0\nlight = "dark"\n'
    )
    files = {"capture.toml": own, "camera.toml": even}
    yield make_seed(root, "capture", files, lambda folder: OwnCapture.from_toml(folder / "capture.toml"))


def _stores(root: Path) -> Iterator[Seed]:
    patches = root / "patches"
    writer = StoreWriter(patches, FORM, {"seed": 1}, total=3, shard_size=2)
    for number in writer.missing_shards():
        count = len(writer.patches(number))
        writer.write_shard(number, codes_of(count, *FORM.patch_shape) >> 4, [ROW] * count)
    writer.finish()
    files = ("manifest.json", "patches.parquet", "shards/00000.npy", "shards/00000.sums")
    yield Seed("patches", patches, files, _read_store)
    captures = root / "captures"
    capture = CaptureWriter(captures, FORM, (32, 48), {"source": "own"})
    capture.begin()
    for index, view in capture.missing_frames("a"):
        capture.write_frame("a", index, view, codes_of(16, 48) >> 4)
    capture.complete("a", [ROW, ROW])
    capture.finish()
    parts = ("captures/a.json", "captures/a.codes", "captures/a.sums")
    yield Seed("captures", captures, ("manifest.json", "patches.parquet", *parts), _read_store)


def _read_store(folder: Path) -> object:
    verify(folder, lambda _done, _total: None)
    store = open_patches(folder)
    return store.stack(np.arange(len(store)))


def _predictions(root: Path) -> Iterator[Seed]:
    folder = root / "predictions"
    folder.mkdir(parents=True)
    values: dict[str, object] = {
        "method": "m", "problem": "D1", "split": "test", "scene": "a", "capture": "c", "state": "focused",
        "identity": "", "prior": "even", "light": "", "device": "", "in_crop": True,
        "confidence": 0.5, "expected_error": 1.0, "risk": 0.1,
    }  # fmt: skip
    import pyarrow as pa  # noqa: PLC0415  # beside its only use

    columns = {field.name: [values.get(field.name, 1)] * 4 for field in SCHEMA}
    table = pa.table(columns).cast(SCHEMA)
    write_file(folder / "predictions.parquet", lambda file: write_parquet(table, file))
    manifest = {
        "kind": "predictions", "data": HASH, "simulated": True, "methods": {"m": [""]}, "split": "test",
        "starts": [0, 1], "patches": 2, "prior": {"name": "even", "table": []},
        "origin": asdict(Provenance(HASH, True, "test", 2, 2, positions=5, prior="even")),
    }  # fmt: skip
    write_json(folder / "manifest.json", manifest)
    write_file(folder / "examples.npz", _gallery().write)
    files = ("manifest.json", "predictions.parquet", "examples.npz")
    yield Seed("predictions", folder, files, _check_predictions)
    part = folder / "parts"
    part.mkdir()
    (part / "00000.parquet").write_bytes((folder / "predictions.parquet").read_bytes())
    write_json(part / "00000.json", {"m": 0.5, "": 0.1})
    yield Seed("parts", part, ("00000.parquet", "00000.json"), _join_parts)


def _gallery() -> ExampleSet:
    two, text = np.array([0, 1]), np.array(["a", "b"])
    ranges, curves = np.array([[0, 1], [0, 1]], np.float32), np.zeros((2, 2, 5), np.float32)
    slices, views = np.zeros((2, 5, 8, 8), np.uint8), np.zeros((2, 2, 8, 8), np.uint8)
    posteriors = np.zeros((0, 5, 5), np.float32)
    return ExampleSet(two, text, text, two, text, ranges, slices, views, curves, posteriors)


def _check_predictions(folder: Path) -> object:
    verify(folder, lambda _done, _total: None)
    check_predictions(folder)
    reporting._open(folder)
    gallery = read_gallery(folder / "examples.npz")
    return None if gallery is None else [gallery.linear(at) for at in range(len(gallery))]


def _join_parts(folder: Path) -> object:
    part = folder / "00000.parquet"
    return predicting._join([part], folder / "joined"), predicting._costs_of_all([part], 4)


def _reports(root: Path) -> Iterator[Seed]:
    folder = root / "report"
    write_all(folder, "report", {"a.txt": b"a", "figures/b.svg": b"b"}, {"predictions": []}, overwrite=False)
    contents = {"manifest.json": (folder / "manifest.json").read_bytes()}

    def write_again(at: Path) -> None:
        verify(at, lambda _done, _total: None)
        try:
            write_all(at, "report", {"a.txt": b"a"}, {"predictions": []}, overwrite=False)
        finally:  # the next mutant finds what this one did
            (at / "figures" / "b.svg").write_bytes(b"b")

    yield make_seed(root, "report", contents, write_again)


def _wide(root: Path) -> Iterator[Seed]:
    folder, form = root / "wide", StoreFormat(GRID, size=16, views=2, black=0.0, white=4095.0)
    writer = DepthImageWriter(folder, form, {"seed": 1}, ("train", "validation"))
    for number in writer.begin():
        writer.write_shard(number, codes_of(2, 2, 10, 16) >> 4, np.ones((2, 4, 4)), np.ones(2))
    writer.finish()

    def crop(at: Path) -> object:
        verify(at, lambda _done, _total: None)
        pictures = DepthImages(at, "train")
        return [pictures.crop(picture, 0, 0, 16) for picture in range(len(pictures))]

    yield Seed("wide", folder, ("manifest.json", "pictures/00000.npz"), crop)


def _rigs(root: Path) -> Iterator[Seed]:
    place = {"left": [-30.0, 0, 0], "right": [30.0, 0, 0]}
    rig = json.dumps({"spacing_mm": 30.0, "focal_px": 1500.0, "nominal_mm": place}).encode()
    outcome = json.dumps({"capture": "a", "fault": "", "confident": 0.5, "rig": [1.0]}).encode()
    said = {"name": "a", "values": [1.0], "slope": [0.0], "information": [[2.0]]}
    told = json.dumps({"capture": "a", "fault": "", "told": said}).encode()
    for name, content, schema in (("rig", rig, RIG), ("outcome", outcome, OUTCOME), ("told", told, TOLD)):

        def check(folder: Path, file: str = f"{name}.json", schema: Schema = schema) -> None:
            schema.check(folder / file, read_json(folder / file))

        yield make_seed(root, name, {f"{name}.json": content}, check)
    for name in ("up", "raw"):
        codes = codes_of(16, 24) if name == "raw" else (codes_of(16, 24) >> 8).astype(np.uint8)
        frame = {"f.png": cv2.imencode(".png", codes)[1].tobytes()}

        def decode(folder: Path, sampling: str = name) -> object:
            return decode_frame((folder / "f.png").read_bytes(), "f.png", sampling, "ccw")  # type: ignore[arg-type]

        yield make_seed(root, f"frame-{name}", frame, decode)


def _photographs(root: Path) -> Iterator[Seed]:
    picture = cv2.imencode(".png", (codes_of(80, 80, 3) >> 8).astype(np.uint8))[1].tobytes()
    files = {"a.png": picture, "b.png": picture}
    yield make_seed(root, "photographs", files, lambda folder: read_photographs(str(folder)))


def _archives(root: Path) -> Iterator[Seed]:
    picture = cv2.imencode(".png", codes_of(8, 8))[1].tobytes()
    for suffix in (".tar", ".tar.gz"):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz" if suffix == ".tar.gz" else "w") as tar:
            for at in range(3):
                member = tarfile.TarInfo(f"train1/raw_left_pd/apt1_0/{at}/result_pd_left_center.png")
                member.size = len(picture)
                tar.addfile(member, io.BytesIO(picture))
        name = f"train1{suffix}"
        yield make_seed(
            root,
            f"archive{suffix}",
            {name: file.getvalue()},
            partial(read_named, _unpack, name),
        )


def _unpack(path: Path) -> int:
    count = 0
    for _, _, read in read_archive(path, lambda _item: True, lambda _position: None):
        try:
            count += len(read())
        except CaptureFileError:
            continue
        except ArchiveError:
            break
    return count


def _begun(root: Path) -> Iterator[Seed]:
    plan = {"kind": "patches", "layout": 1, "config": {"seed": 1}, "count": 3}
    folder = root / "begun"
    begin_folder(folder, plan)

    def go_on(at: Path) -> None:
        begin_folder(at, plan)

    yield Seed("begun", folder, (WRITING,), go_on)
    lock = json.dumps({"process": 1, "host": socket.gethostname(), "since": 0}).encode()

    def take(at: Path) -> None:
        with locked(at, lambda _line: None):
            pass

    yield make_seed(root, "lock", {"writing.lock": lock}, take)


def _networks(root: Path) -> Iterator[Seed]:
    from onnx import TensorProto, helper  # noqa: PLC0415  # an extra

    nodes = [
        helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "column"], ["tall"]),
        helper.make_node("MatMul", ["tall", "weights"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "seed",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", "slice", 2, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 5])],
        [
            helper.make_tensor("weights", TensorProto.FLOAT, [1, 5], (1.0, 2.0, 5.0, 2.0, 1.0)),
            helper.make_tensor("axes", TensorProto.INT64, [4], [1, 2, 3, 4]),
            helper.make_tensor("column", TensorProto.INT64, [2], [-1, 1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    card = learned.Card(
        "D1", "test", 1, 2, 8, tuple(GRID.dioptres.tolist()), "linear", "mode", {}, {}, {"mae": 1.0}, "0"
    )
    helper.set_model_props(model, {learned.METADATA: card.to_json()})
    yield make_seed(root, "network", {"n.onnx": model.SerializeToString()}, _ask)
    depth = (learned.WEIGHTS / "learned-depth.onnx").read_bytes()
    yield make_seed(root, "depth-network", {"n.onnx": depth}, _ask_depth, slow=True)


def _ask(folder: Path) -> object:
    learned._load.cache_clear()
    pixels = np.full((1, 1, 2, 8, 8), 0.25, np.float32)
    stack = FocalStack(pixels, np.array([[2]]), GRID)
    return learned.Learned(folder / "n.onnx").posterior(stack)


def _ask_depth(folder: Path) -> object:
    depth_network._load.cache_clear()
    view = np.full((1, 128, 128), 0.25, np.float32)
    network = depth_network.DepthNetwork(folder / "n.onnx")
    return network.card, network(view, view)


def _runs(root: Path) -> Iterator[Seed]:
    import torch  # noqa: PLC0415  # an extra

    from dioptre.store.manifest import hash_file  # noqa: PLC0415
    from dioptre.train.distributed import Rank  # noqa: PLC0415
    from dioptre.train.folder import ValidationResult, load_state, open_run, save_state  # noqa: PLC0415
    from dioptre.train.networks import NETWORKS  # noqa: PLC0415
    from dioptre.train.recipe import Recipe  # noqa: PLC0415

    recipe, folder = Recipe(network="move", width=0.25), root / "run"
    folder.mkdir(parents=True)
    network = NETWORKS["move"].build(len(GRID), 2, 0.25)
    save_state(folder / "best.pt", network.state_dict())
    manifest = {
        "kind": "training", "recipe": recipe.to_json(), "data": [HASH], "format": FORM.to_json(),
        "start_from": None, "after": [], "teacher": None, "weights": hash_file(folder / "best.pt"),
        "validation": asdict(ValidationResult(1, 0.5, 1.5)),
    }  # fmt: skip
    write_json(folder / "manifest.json", manifest)
    yield Seed("run", folder, ("manifest.json", "best.pt"), lambda at: open_run(at).network(), slow=True)
    looks = {"trails.npy": bytes_of(lambda file: np.save(file, np.zeros((4, 2, 1), np.int64)))}
    yield make_seed(
        root, "looks", looks, lambda at: Rank(0, 1).make_once(at / "trails.npy", lambda: np.zeros(1))
    )
    state = bytes_of(lambda file: torch.save({"step": 3, "network": network.state_dict()}, file))
    device = torch.device("cpu")
    yield make_seed(
        root,
        "checkpoint",
        {"checkpoint.pt": state},
        lambda at: load_state(at / "checkpoint.pt", device),
        slow=True,
    )
