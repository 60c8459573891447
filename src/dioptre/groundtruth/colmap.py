"""Poses as a COLMAP text model: cameras.txt, images.txt and points3D.txt, as its tools read them.

A camera is of the model RADIAL: focal length, principal point and two coefficients of distortion, which is
ours exactly. Pixels count from the corner of the picture, so that the first pixel's centre is (0.5, 0.5).
"""

import numpy as np
from scipy.spatial.transform import Rotation

from dioptre.groundtruth.poses import Poses


def colmap_model(poses: Poses, frame: tuple[int, int], factor: int) -> dict[str, str]:
    """Returns the files of a model, by their names.

    Args:
        poses: What was found.
        frame: Rows and columns of the whole frame.
        factor: Pixels of the whole frame along a side of a pixel of the pictures that the model is for, which
            are called <camera>.png.
    """
    rows, cols = frame[0] // factor, frame[1] // factor
    places = poses.seen_by / factor + (cols / 2, rows / 2)
    cameras, images = [], []
    order: list[dict[int, int]] = []  # of each picture: where in its list each point is
    for at, name in enumerate(poses.names, 1):
        axis = poses.shifts[at - 1] / factor + (cols / 2, rows / 2)
        focal = poses.focals[at - 1] / factor
        cameras.append(_line(at, "RADIAL", cols, rows, focal, *axis, *poses.distortion))
        rotation = Rotation.from_matrix(poses.rotations[at - 1])
        x, y, z, w = rotation.as_quat(canonical=True)
        move = -rotation.apply(poses.centres[at - 1])
        seen = np.flatnonzero(np.isfinite(places[:, at - 1, 0]))
        order.append({int(point): place for place, point in enumerate(seen)})
        images.append(_line(at, w, x, y, z, *move, at, f"{name}.png"))
        images.append(
            " ".join(f"{places[p, at - 1, 0]:.4f} {places[p, at - 1, 1]:.4f} {p + 1}" for p in seen)
        )
    points = []
    for point, place in enumerate(poses.points):
        track = [f"{at} {where[point]}" for at, where in enumerate(order, 1) if point in where]
        points.append(f"{_line(point + 1, *place)} 128 128 128 {poses.pixel / factor:.4f} {' '.join(track)}")
    texts = {"cameras.txt": cameras, "images.txt": images, "points3D.txt": points}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def _line(*values: object) -> str:
    return " ".join(f"{value:.10g}" if isinstance(value, float) else str(value) for value in values)
