"""One phone: how its pupil transmits and splits light over the field, its shading, and its lens's bias.

A place in the field is (x, y) in pixels of a Pixel-like frame from its centre, x along the columns; other
cameras' frames are scaled to that by their half diagonal. Pupil coordinates are in radii, x along columns.

The numbers were measured on a phone with the same class of sensor (blur kernels on a grid over the central
crop, white sheets); what is not measured is said.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Float32

from dioptre.optics import CameraModel

HALF_DIAGONAL_PX = 1260.0  # of the frame on which the field's numbers were measured
FAR_SIDE = 1.15  # published stacks: estimators say 1.07, 1.18 and 1.20 (docs/log.md)
SHADED_FROM = (
    60 / 1512,
    60 / 2016,
)  # rows, columns of the frame outside the shading tables' outermost values

# Sum of the views on a white sheet, relative to its maximum; rows from the top, columns from the left.
SHADING = np.array([
    [.38, .45, .52, .59, .61, .58, .51, .44, .35],
    [.47, .57, .71, .83, .88, .82, .70, .56, .44],
    [.45, .60, .77, .93, 1.0, .91, .76, .61, .47],
    [.38, .53, .68, .79, .82, .77, .67, .55, .44],
    [.32, .43, .52, .59, .60, .57, .51, .45, .37],
])  # fmt: skip

# Left over the sum of the views.
LEFT_SHARE = np.array([
    [.587, .566, .539, .535, .546, .558, .557, .536, .521],
    [.579, .532, .511, .518, .543, .567, .577, .560, .521],
    [.569, .520, .503, .512, .542, .572, .582, .568, .527],
    [.581, .532, .512, .519, .543, .566, .574, .556, .517],
    [.587, .566, .539, .533, .544, .554, .550, .529, .515],
])  # fmt: skip

Field = tuple[float, float]


@dataclass(frozen=True, eq=False)
class PhoneOptics:
    """How one phone transmits and splits light over the field, and where its lens really goes.

    Attributes:
        split_depth: A of the left view's share 1/2 - A tanh((u - u0) / s) across the pupil.
        split_width: s, in pupil radii.
        split_centre: u0 in the middle of the field, in pupil radii.
        radius_gain: Blur diameter relative to the camera model's, for things behind the focus plane.
        far_side: How many times as large blur is when the lens is focused beyond a thing as when it is
            focused as much before it; 1 for a thin lens.
        rim: How much brighter the pupil's rim becomes off axis, relative to the measured phone.
        tilt: How much brighter its side towards the centre becomes off axis, likewise.
        shading: Sum of the views over the field, (5, 9), 1 at most.
        left_share: Left over the sum of the views over the field, (5, 9).
        lens_bias: Constant error of the lens position, in deviations of the actuator's devices.
        closer_m: How much nearer to the scene it stands than the phone in the middle of the rig.
    """

    split_depth: float = 0.48
    split_width: float = 0.83
    split_centre: float = 0.12
    radius_gain: float = 1.0
    far_side: float = 1.0
    rim: float = 1.0
    tilt: float = 1.0
    shading: Float[np.ndarray, "5 9"] = field(default_factory=SHADING.copy)
    left_share: Float[np.ndarray, "5 9"] = field(default_factory=LEFT_SHARE.copy)
    lens_bias: float = 0.0
    closer_m: float = 0.0

    @classmethod
    def center(cls) -> "PhoneOptics":
        """Returns the phone in the middle of the rig: the measured one."""
        return cls(far_side=FAR_SIDE)

    @classmethod
    def left(cls) -> "PhoneOptics":
        """Returns the phone to its left: another pupil and shading, always the same, and 1.1 cm closer."""
        return replace(cls.draw(np.random.default_rng(2020)), closer_m=0.011)

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "PhoneOptics":
        """Returns a phone of the same make: its optics vary as units do, and half of them are mirrored.

        Blur grows by 15 per cent more or less, up to 30 per cent more on the far side than on the near one;
        the split of the views is 0.20 to 0.25 blur diameters in the middle of the field.
        """
        y, x = np.mgrid[-1:1:5j, -1:1:9j]
        slope, bow = rng.normal(0, 0.025, 2), rng.normal(0, 0.015, 2)
        share = LEFT_SHARE + slope[0] * x + slope[1] * y + bow[0] * x * x + bow[1] * y * y
        fall = np.clip(SHADING * (1 + 0.1 * rng.uniform(-1, 1) * (x * x + y * y) / 2), 0.05, 1.0)
        mirrored = rng.random() < 0.5
        return cls(
            split_depth=float(rng.uniform(0.43, 0.48)),
            split_width=float(rng.uniform(0.83, 0.98)),
            split_centre=(0.12 + 0.1 * float(rng.uniform(-1, 1))) * (-1 if mirrored else 1),
            radius_gain=1 + 0.15 * float(rng.uniform(-1, 1)),
            far_side=float(rng.uniform(0.9, 1.3)),
            rim=1 + 0.3 * float(rng.uniform(-1, 1)),
            tilt=1 + 0.3 * float(rng.uniform(-1, 1)),
            shading=fall[:, ::-1] if mirrored else fall,
            left_share=np.clip(1 - share[:, ::-1] if mirrored else share, 0.3, 0.7),
            lens_bias=float(rng.standard_normal()),
        )

    def thin_lens(self) -> "PhoneOptics":
        """Returns the same phone with the blur that the camera model says, on both sides of focus."""
        return replace(self, radius_gain=1.0, far_side=1.0)

    def blur_gain(self, diameter_px: float) -> float:
        """Returns the ratio of a device's blur to the camera model's, for a signed diameter in px."""
        return self.radius_gain * (self.far_side if diameter_px < 0 else 1.0)

    @property
    def least_gain(self) -> float:
        """The smaller gain of the two sides of focus."""
        return self.radius_gain * min(1.0, self.far_side)

    @property
    def most_gain(self) -> float:
        """The larger gain of the two sides of focus."""
        return self.radius_gain * max(1.0, self.far_side)

    def shading_at(self, camera: CameraModel, at: Field) -> tuple[float, float]:
        """Returns the brightness (1 at most) and the left share at a place in the field."""
        return _interpolate(self.shading, camera, at), _interpolate(self.left_share, camera, at)

    def shading_within(
        self, camera: CameraModel, at: Field, size: int
    ) -> Float32[np.ndarray, "2 {size} {size}"]:
        """Returns the shading of a patch's left and right view, relative to its middle.

        It is bilinear between the corners, which is what the shading is over so short a way.
        """
        corners = np.empty((2, 2, 2))
        for row, y in enumerate((-size / 2, size / 2)):
            for col, x in enumerate((-size / 2, size / 2)):
                light, left = self.shading_at(camera, (at[0] + x, at[1] + y))
                corners[:, row, col] = light * left, light * (1 - left)
        along = (np.arange(size) + 0.5) / size
        rows, cols = np.stack([1 - along, along]), np.stack([1 - along, along])
        field = np.einsum("vrc,ry,cx->vyx", corners, rows, cols)
        return (field / corners.mean(axis=(1, 2))[:, None, None]).astype(np.float32)


def _interpolate(table: Float[np.ndarray, "5 9"], camera: CameraModel, at: Field) -> float:
    """Returns a table's value at a place of the frame, bilinear, held outside the outermost values."""
    places = []
    for offset, length, margin, values in zip(at[::-1], camera.frame, SHADED_FROM, table.shape, strict=True):
        part = (offset / length + 0.5 - margin) / (1 - 2 * margin)
        places.append(float(np.clip(part * (values - 1), 0, values - 1.001)))
    row, col = places
    r, c = int(row), int(col)
    fr, fc = row - r, col - c
    top = table[r, c] * (1 - fc) + table[r, c + 1] * fc
    bottom = table[r + 1, c] * (1 - fc) + table[r + 1, c + 1] * fc
    return float(top * (1 - fr) + bottom * fr)
