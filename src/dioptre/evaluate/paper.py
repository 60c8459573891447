"""The numbers that the paper prints, as literal data.

They are **the paper's numbers on the paper's data, never ours**: no row of this module was computed by
this package, and none may be shown as if it were. Rows stand in the paper's order under the keys of our
methods. The paper does not say how many predictions a row stands for, so `count` is None.

One number is probably a misprint: "≤ 2" of the I1 model is printed as 0.597, in the big table and again
in the multi-step table, which would make an error of 2 more frequent than an error of 1 and puts the
first step above the second (0.567), unlike every other number of those two rows. It stays as printed.
"""

from collections.abc import Mapping

from dioptre.evaluate.metrics import Metrics

# A dagger in the paper: these saw only patches inside a central 1.5x crop of the frame, in every table.
CENTRE_CROP = frozenset({"ssd-disparity", "learned-depth"})

# The big table: the test set, four problems; within each the RMSE falls.
BIG_TABLE: Mapping[str, Metrics] = {
    # I*: the full stack, green.
    "dct-reduced-energy-ratio": Metrics(0.034, 0.082, 0.122, 0.186, 18.673, 22.855),
    "total-variation-l1": Metrics(0.048, 0.136, 0.208, 0.316, 15.817, 21.013),
    "histogram-entropy": Metrics(0.087, 0.230, 0.326, 0.432, 14.013, 20.223),
    "modified-dct": Metrics(0.033, 0.091, 0.142, 0.235, 15.713, 20.197),
    "gradient-count-3": Metrics(0.109, 0.312, 0.453, 0.612, 9.543, 16.448),
    "gradient-count-10": Metrics(0.126, 0.347, 0.493, 0.645, 9.103, 16.218),
    "dct-energy-ratio": Metrics(0.110, 0.286, 0.410, 0.554, 9.556, 15.286),
    "eigenvalue-trace": Metrics(0.116, 0.303, 0.434, 0.580, 8.827, 14.594),
    "intensity-variance": Metrics(0.116, 0.303, 0.434, 0.580, 8.825, 14.593),
    "intensity-coefficient-of-variation": Metrics(0.125, 0.327, 0.469, 0.624, 8.068, 13.808),
    "percentile-range-3": Metrics(0.110, 0.293, 0.422, 0.570, 8.404, 13.761),
    "percentile-range-1": Metrics(0.123, 0.326, 0.470, 0.633, 7.126, 12.312),
    "percentile-range-0.3": Metrics(0.134, 0.347, 0.502, 0.672, 6.372, 11.456),
    "total-variation-l2": Metrics(0.167, 0.442, 0.611, 0.770, 5.488, 11.409),
    "modified-laplacian": Metrics(0.209, 0.524, 0.706, 0.852, 4.169, 9.781),
    "diagonal-laplacian": Metrics(0.210, 0.528, 0.709, 0.857, 4.006, 9.467),
    "laplacian-energy": Metrics(0.208, 0.520, 0.701, 0.852, 3.917, 9.062),
    "laplacian-variance": Metrics(0.195, 0.496, 0.672, 0.832, 3.795, 8.239),
    "local-log-ratio-1": Metrics(0.220, 0.559, 0.751, 0.906, 2.652, 6.396),
    "local-ratio-1": Metrics(0.220, 0.559, 0.751, 0.906, 2.645, 6.374),
    "local-norm-dist-sq-1": Metrics(0.219, 0.562, 0.752, 0.907, 2.526, 5.924),
    "wavelet-sum-2": Metrics(0.210, 0.547, 0.752, 0.918, 2.392, 5.650),
    "gradient-magnitude-mean": Metrics(0.210, 0.545, 0.747, 0.915, 2.359, 5.284),
    "wavelet-variance-2": Metrics(0.198, 0.522, 0.731, 0.906, 2.398, 5.105),
    "gradient-magnitude-variance": Metrics(0.205, 0.536, 0.739, 0.909, 2.374, 5.103),
    "wavelet-variance-3": Metrics(0.162, 0.429, 0.636, 0.854, 2.761, 5.006),
    "wavelet-ratio-3": Metrics(0.161, 0.430, 0.640, 0.862, 2.706, 4.856),
    "wavelet-log-ratio-2": Metrics(0.208, 0.544, 0.753, 0.927, 2.191, 4.843),
    "local-ratio-2": Metrics(0.221, 0.570, 0.772, 0.931, 2.072, 4.569),
    "wavelet-ratio-2": Metrics(0.199, 0.527, 0.734, 0.911, 2.265, 4.559),
    "local-log-ratio-2": Metrics(0.221, 0.571, 0.772, 0.931, 2.067, 4.554),
    "wavelet-sum-3": Metrics(0.170, 0.458, 0.672, 0.888, 2.446, 4.531),
    "local-norm-dist-sq-2": Metrics(0.221, 0.572, 0.770, 0.929, 2.056, 4.395),
    "local-ratio-4": Metrics(0.210, 0.550, 0.755, 0.927, 2.085, 4.309),
    "local-log-ratio-4": Metrics(0.211, 0.551, 0.755, 0.927, 2.083, 4.305),
    "wavelet-log-ratio-3": Metrics(0.169, 0.458, 0.672, 0.891, 2.358, 4.174),
    "local-norm-dist-sq-4": Metrics(0.212, 0.555, 0.760, 0.928, 2.059, 4.164),
    "l2a-stack-green": Metrics(0.233, 0.600, 0.798, 0.957, 1.600, 2.446),
    # D*: the full stack, left and right.
    "normalized-sad": Metrics(0.166, 0.443, 0.636, 0.819, 4.280, 8.981),
    "ternary-census-30": Metrics(0.171, 0.450, 0.633, 0.802, 4.347, 8.794),
    "normalized-cross-correlation": Metrics(0.168, 0.446, 0.639, 0.824, 4.149, 8.740),
    "rank-transform": Metrics(0.172, 0.451, 0.633, 0.811, 4.138, 8.558),
    "census-transform": Metrics(0.179, 0.473, 0.663, 0.842, 3.737, 8.126),
    "ternary-census-10": Metrics(0.178, 0.472, 0.664, 0.841, 3.645, 7.804),
    "normalized-envelope-l2": Metrics(0.155, 0.432, 0.633, 0.856, 2.945, 5.665),
    "normalized-envelope-l1": Metrics(0.165, 0.448, 0.653, 0.870, 2.731, 5.218),
    "l2a-stack-dp": Metrics(0.241, 0.606, 0.807, 0.955, 1.611, 2.674),
    # D1: one slice, left and right.
    "zncc-disparity": Metrics(0.064, 0.181, 0.286, 0.448, 8.879, 12.911),
    "ssd-disparity": Metrics(0.097, 0.262, 0.393, 0.547, 7.537, 11.374),
    "learned-depth": Metrics(0.108, 0.289, 0.428, 0.586, 7.176, 11.351),
    "l2a-single-dp": Metrics(0.164, 0.455, 0.653, 0.885, 2.235, 3.112),
    # I1: one slice, green.
    "l2a-single-green": Metrics(0.115, 0.318, 0.597, 0.691, 4.321, 6.737),
}

# Multi-step: by method and number of steps; each patch is started from every position.
MULTI_STEP: Mapping[tuple[str, int], Metrics] = {
    ("zncc-disparity", 1): Metrics(0.064, 0.181, 0.286, 0.448, 8.879, 12.911),
    ("zncc-disparity", 2): Metrics(0.100, 0.278, 0.426, 0.617, 6.662, 10.993),
    ("learned-depth", 1): Metrics(0.108, 0.289, 0.428, 0.586, 7.176, 11.351),
    ("learned-depth", 2): Metrics(0.172, 0.433, 0.618, 0.802, 3.876, 7.410),
    ("l2a-single-dp", 1): Metrics(0.164, 0.455, 0.653, 0.885, 2.235, 3.112),
    ("l2a-two-step-dp", 2): Metrics(0.201, 0.519, 0.723, 0.916, 1.931, 2.772),
    ("l2a-single-green", 1): Metrics(0.115, 0.318, 0.597, 0.691, 4.321, 6.737),
    ("l2a-two-step-green", 2): Metrics(0.138, 0.377, 0.567, 0.807, 2.855, 4.088),
}

# Registration: problem I* on stacks whose focal breathing was undone.
REGISTERED: Mapping[str, Metrics] = {
    "local-ratio-2": Metrics(0.222, 0.578, 0.776, 0.932, 2.181, 5.184),
    "local-log-ratio-2": Metrics(0.222, 0.579, 0.776, 0.932, 2.176, 5.178),
    "local-norm-dist-sq-2": Metrics(0.221, 0.576, 0.773, 0.928, 2.202, 5.097),
    "local-ratio-4": Metrics(0.212, 0.565, 0.773, 0.940, 1.923, 3.920),
    "local-log-ratio-4": Metrics(0.213, 0.566, 0.774, 0.941, 1.916, 3.917),
    "wavelet-sum-3": Metrics(0.194, 0.520, 0.731, 0.922, 2.019, 3.558),
    "wavelet-log-ratio-3": Metrics(0.185, 0.504, 0.718, 0.922, 2.003, 3.239),
    "l2a-stack-green": Metrics(0.251, 0.610, 0.809, 0.957, 1.570, 2.529),
}

# The other phone: problem D1 on the left camera's version of the test set.
LEFT_CAMERA: Mapping[str, Metrics] = {
    "learned-depth": Metrics(0.070, 0.206, 0.340, 0.564, 7.224, 11.010),
    "ssd-disparity": Metrics(0.068, 0.200, 0.333, 0.550, 7.377, 10.951),
    "zncc-disparity": Metrics(0.046, 0.136, 0.224, 0.379, 9.436, 13.138),
    "l2a-single-dp": Metrics(0.105, 0.322, 0.513, 0.807, 2.912, 3.867),
}

# Light and dark: problem D1 by method and setting, the same scenes with the light on and off.
LIGHT_AND_DARK: Mapping[tuple[str, str], Metrics] = {
    ("ssd-disparity", "light"): Metrics(0.079, 0.228, 0.355, 0.528, 6.732, 9.577),
    ("learned-depth", "light"): Metrics(0.094, 0.264, 0.401, 0.576, 6.262, 9.376),
    ("zncc-disparity", "light"): Metrics(0.064, 0.188, 0.304, 0.486, 7.222, 10.179),
    ("l2a-single-dp", "light"): Metrics(0.126, 0.369, 0.578, 0.832, 2.654, 3.563),
    ("learned-depth", "dark"): Metrics(0.061, 0.178, 0.286, 0.442, 9.104, 12.793),
    ("ssd-disparity", "dark"): Metrics(0.055, 0.162, 0.252, 0.396, 9.343, 12.669),
    ("zncc-disparity", "dark"): Metrics(0.056, 0.167, 0.272, 0.443, 7.972, 11.080),
    ("l2a-single-dp", "dark"): Metrics(0.112, 0.323, 0.497, 0.729, 3.479, 4.957),
}
