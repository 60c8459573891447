"""What decides each long job: one plain value for each, which is also its flags on the command line.

The same values give the same bytes. A job checks its value when it begins (`check`), and not the value itself
when it is made: what is wrong is then said in one sentence, by whatever way it came. Nothing here is slow to
import, for `dioptre --help` reads it.
"""

from dataclasses import dataclass
from typing import Literal

from dioptre.autofocus.lens_settings import LensMotion
from dioptre.errors import InputError
from dioptre.rig import CAMERAS

MOST_CAPTURES = 100_000  # a hundred times those of the paper
MOST_BINNED = 8  # along a side
MOST_PATCHES = 100_000_000  # of a store: 250 times those of the paper


@dataclass(frozen=True)
class Simulation:
    """What decides the patches of a simulated store.

    Attributes:
        patches: How many.
        seed: Seed of everything.
        camera: A make (pixel3, dslr-50mm, machine-vision-16mm, microscope-4x), or a TOML file that describes
            a thin lens (docs/data.md).
        device: Which phone of the rig, or another one in every scene.
        light: Normal or low light, mixed as drawn, or both for every scene in both, one after the other.
        split: The split that all scenes belong to, or mixed; no texture is in two splits.
        prior: Depths over the grid: even; far, ever fewer towards its near end, as in the published data;
            weights such as 3,2,1, far to near; or a file of them.
        beyond: Share of patches farther or nearer than the grid reaches; by default a few of those for
            training, none of the others.
        featureless: Share of patches with nothing to focus on, likewise.
        periodic: Share of painted surfaces with a pattern that repeats, likewise.
        exact_lens: Let the lens go exactly where it is told, its axis stay where it is, and blur grow as a
            thin lens's.
        processed: Put pictures through a tone curve, sharpening and JPEG, for networks that will see such
            pictures.
        textures: Folder of photographs to paint surfaces with, beside leaves and print; skimage for those
            that scikit-image brings; none by default.
    """

    patches: int = 2000
    seed: int = 0
    camera: str = "pixel3"
    device: Literal["center", "left", "random"] = "center"
    light: Literal["mixed", "normal", "dark", "both"] = "mixed"
    split: Literal["mixed", "train", "validation", "test"] = "mixed"
    prior: str = "even"
    beyond: float | None = None
    featureless: float | None = None
    periodic: float | None = None
    exact_lens: bool = False
    processed: bool = False
    textures: str = ""

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if not 1 <= self.patches <= MOST_PATCHES:
            raise InputError(
                f"the number of patches is 1 to {MOST_PATCHES:,}, not {self.patches} (--patches)"
            )
        if self.seed < 0:
            raise InputError(f"a seed is 0 or more, not {self.seed} (--seed)")
        for name in ("beyond", "featureless", "periodic"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"{name} is a share from 0 to 1, not {share:g} (--{name})")


@dataclass(frozen=True)
class Captures:
    """Whole captures instead of patches, in the layout of the published set.

    Attributes:
        captures: How many; 0 for patches.
        rig: Of five phones in a cross, each capture; else of one phone.
        frame: ROWSxCOLS in the middle of the sensor, multiples of 4; the whole sensor by default.
        spacing_mm: Distance of the outer phones from the middle one; 0 for 60 mm, and for smaller frames as
            much less, so that their views overlap as much.
        binned: Write means over so many pixels along either side: the whole field of the same world on frames
            that are as much smaller.
    """

    captures: int = 0
    rig: bool = False
    frame: str = ""
    spacing_mm: float = 0.0
    binned: int = 1

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if not 1 <= self.captures <= MOST_CAPTURES:
            raise InputError(
                f"the number of captures is 1 to {MOST_CAPTURES:,}, not {self.captures}: --captures N"
            )
        if not 0 <= self.spacing_mm < 1e4:
            raise InputError(f"the spacing of a rig is some millimetres, not {self.spacing_mm:g}")
        if not 1 <= self.binned <= MOST_BINNED:
            raise InputError(f"1 to {MOST_BINNED} pixels are binned, not {self.binned} (--binned)")
        _ = self.size  # raises if it is wrong

    @property
    def size(self) -> tuple[int, int] | None:
        """Rows and columns of a frame; None for the whole sensor."""
        if not self.frame:
            return None
        rows, _, cols = self.frame.partition("x")
        if not (rows.isdecimal() and cols.isdecimal()):
            raise InputError(f"a frame is ROWSxCOLS, such as 384x512, not {self.frame!r}")
        size = int(rows), int(cols)
        if min(size) < 128 or size[0] % 4 or size[1] % 4:
            raise InputError(
                f"a frame has at least 128 rows and columns, multiples of 4, not {size[0]}x{size[1]}"
            )
        return size


@dataclass(frozen=True)
class Import:
    """How captures become labelled patches.

    Attributes:
        cameras: Cameras of the published rig, separated by commas: center, left, right, top, bottom.
        pd: Published frames: native (raw), upsampled (up), or whichever is there. Both give the same patches.
        min_depth: Distance of the published depth code 0, in metres.
        max_depth: Distance of the published depth code 255, in metres.
        confidence: Least median confidence of a patch that is kept.
        rotate: Which way the published portrait files are turned to landscape; --check tells if it is right.
        validation: Training scenes to keep for validation: a fraction such as 0.1, or names, separated by
            commas. Test scenes are official.
        on_error: Leave out captures that cannot be read, and list them; or stop at the first. A full disk
            stops.
        maps: Folder that `dioptre reconstruct` wrote, whose depth and confidence are taken instead of those
            beside the frames.
    """

    cameras: str = "center"
    pd: Literal["raw", "up", "auto"] = "auto"
    min_depth: float = 0.1
    max_depth: float = 100.0
    confidence: float = 0.99
    rotate: Literal["ccw", "cw"] = "ccw"
    validation: str = ""
    on_error: Literal["skip", "stop"] = "skip"
    maps: str = ""

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        from dioptre.store.published.layout import Validation  # noqa: PLC0415  # slow to import

        unknown = [name for name in self.camera_names if name not in CAMERAS]
        if unknown or not self.camera_names:
            raise InputError(
                f"the cameras are some of {', '.join(CAMERAS)}, not {', '.join(unknown) or 'none'}"
            )
        if not 0 < self.min_depth < self.max_depth:
            raise InputError(
                f"depths lie between 0 < min < max, not {self.min_depth:g} m and {self.max_depth:g} m "
                "(--min-depth, --max-depth)"
            )
        if not 0 <= self.confidence <= 1:
            raise InputError(f"a confidence lies in [0, 1], not {self.confidence:g} (--confidence)")
        Validation.parse(self.validation)  # raises if it is wrong

    @property
    def camera_names(self) -> tuple[str, ...]:
        """Which cameras of the published rig."""
        return split_list(self.cameras)

    @property
    def samplings(self) -> tuple[Literal["raw", "up"], ...]:
        """The samplings of the published frames that are taken, the preferred one first."""
        return ("raw", "up") if self.pd == "auto" else (self.pd,)


@dataclass(frozen=True)
class Reconstruct:
    """How captures of a rig become depth and confidence.

    Attributes:
        camera: pixel3, or a TOML file that describes a camera (docs/data.md): its focal length and grid.
        spacing_mm: Mean distance of the outer cameras from the middle one, measured: it gives the metres. 0
            for that of rig.json beside the captures, or for 60.
        rig: Let all captures tell together where the cameras of their rig are, if nobody touched it between
            them (shared), or each for itself.
        on_error: Leave out captures that cannot be reconstructed, and list them; or stop at the first.
    """

    camera: str = "pixel3"
    spacing_mm: float = 0.0
    rig: Literal["shared", "each"] = "shared"
    on_error: Literal["skip", "stop"] = "skip"

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if not 0 <= self.spacing_mm < 1e4:
            raise InputError(f"the spacing of a rig is some millimetres, not {self.spacing_mm:g}")


@dataclass(frozen=True)
class Registration:
    """What decides a registered store, beside the store it is made from.

    Attributes:
        how: By the focus distances, or by a search from there for what makes neighbouring slices alike.
        camera: pixel3, or a TOML file that describes a camera (docs/data.md). A store that knows its grid
            uses that.
        principal_point: What the image is magnified about: x,y in pixels right of and below the centre of the
            frame.
        size: Rows and columns of a registered patch; 0 for as many as imported patches have, or for the
            largest multiple of 8 that every simulated one can fill, less 8 pixels if the motion is searched.
    """

    how: Literal["calibrated", "searched"] = "calibrated"
    camera: str = "pixel3"
    principal_point: str = "0,0"
    size: int = 0

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if self.size < 0:
            raise InputError(
                f"the size of a registered patch is positive, or 0 to find it out, not {self.size}"
            )
        _ = self.point  # raises if it is wrong

    @property
    def point(self) -> tuple[float, float]:
        """The principal point, (x, y) pixels from the centre of the frame."""
        try:
            x, y = (float(item) for item in self.principal_point.split(","))
        except ValueError:
            raise InputError(f"a principal point is x,y in pixels, not {self.principal_point!r}") from None
        return x, y


@dataclass(frozen=True)
class Prediction:
    """What decides predictions, beside the patches.

    Attributes:
        methods: Keys or files of networks, separated by commas (`dioptre methods` lists the keys); all for
            those that the patches allow, as by default, or with others: all,zncc-disparity@left.
        split: Which patches; by default those for testing, or all of a store that has none for testing.
        starts: From how many lens positions, spread evenly over the grid, a method with few looks begins;
            0 for all.
        prior: Where things are expected: even, far, a list of weights such as 3,2,1 (far to near), or a file
            of them. Only methods that know probabilities heed it.
    """

    methods: str = ""
    split: Literal["test", "validation", "train", "all"] | None = None
    starts: int = 0
    prior: str = "even"

    @property
    def keys(self) -> tuple[str, ...]:
        """The methods that are asked for; none for all."""
        return split_list(self.methods)


@dataclass(frozen=True)
class Sweep(LensMotion):
    """How a lens is swept.

    Attributes:
        every: Only every so many positions.
    """

    every: int = 1


@dataclass(frozen=True)
class Workers:
    """Who does the work of a long job; the result does not depend on it.

    Attributes:
        workers: Processes on this machine; 0 for one a core.
        cluster: A Dask scheduler, such as tcp://host:8786, whose workers do it instead. They see the same
            folders under the same paths.
    """

    workers: int = 0
    cluster: str = ""


@dataclass(frozen=True)
class CalibrationJob:
    """What decides a calibration, beside the patches.

    Attributes:
        name: What to call the camera; the file's name by default.
        planes: Fit the field table to the patches, or to planes before a simulated phone, as a factory does.
        camera: pixel3, or a TOML file that describes a camera (docs/data.md): its grid and frame.
        split: Which patches.
        starts: At how many lens positions, spread evenly over the grid, each patch is seen; 0 for all.
        seed: Of the planes and of RANSAC.
    """

    name: str = ""
    planes: Literal["patches", "center", "left"] = "patches"
    camera: str = "pixel3"
    split: Literal["train", "validation", "test", "all"] = "train"
    starts: int = 9
    seed: int = 0

    def check(self) -> None:
        """Raises InputError if a value is impossible."""
        if self.seed < 0 or self.starts < 0:
            raise InputError(
                f"seed and starts are 0 or more, not {self.seed} and {self.starts} (--seed, --starts)"
            )


def split_list(text: str) -> tuple[str, ...]:
    """Returns the items of a list that are separated by commas; empty ones do not count."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


@dataclass(frozen=True)
class Mapping:
    """How to map a stack.

    Attributes:
        method: Key of a contrast or dual-pixel measure.
        size: Rows and columns of a patch.
        stride: Pixels between neighbouring patches.
        black: Value of black in the files; 0 by default.
        white: Value of white in the files; by default the largest that the files can hold, 1 for floats.
    """

    method: str = "local-norm-dist-sq-4"
    size: int = 48
    stride: int = 16
    black: float | None = None
    white: float | None = None
