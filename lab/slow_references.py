"""The 45 classical focus measures of "Learning to Autofocus", plain and slow: what fast kernels must equal.

Every measure below is one formula of the paper's appendix "Baseline Algorithms" on one slice, written as it
is printed; its docstring says where it is read otherwise. No result is kept from one measure to the next:
each computes its own gradient, blur or wavelet.

Conventions:
    Pixels lie in [0, 1], axes are (row, col). Codes are pixels times the range between black and white.
    Measures with an absolute constant (the "+1", a threshold) see codes, all others see pixels; the tables
    `CONTRAST` and `STEREO` at the end say which sees what.
    Filters return their valid interior: no padding. Only the Gaussian and the wavelet go up to the border,
    where they mirror.
    Arithmetic is float64. Where a comparison decides (gradient count, the census family), the codes are
    first rounded to float32, which is what a stack of float32 pixels yields.
    A contrast measure returns phi, highest in focus. A stereo measure returns the mismatch f, lowest in
    focus; the table `STEREO` negates it, so that every score is higher when better.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft, ndimage, signal

from dioptre.errors import InputError
from lab.slow_mismatch import (
    Image,
    Image32,
    census_transform,
    normalized_cross_correlation,
    normalized_envelope_l1,
    normalized_envelope_l2,
    normalized_sad,
    rank_transform,
    ternary_census_l1,
)
from lab.slow_mismatch import normalise as normalise  # noqa: PLC0414

LAPLACE = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
LAPLACE_X = np.array([[0, 0, 0], [1, -2, 1], [0, 0, 0]])
LAPLACE_XY = np.array([[0, 0, 1], [0, -2, 0], [1, 0, 0]]) / np.sqrt(2)
SOBEL_X = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
SOBEL_Y = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
CHECKERBOARD = np.array([[1, 1, -1, -1], [1, 1, -1, -1], [-1, -1, 1, 1], [-1, -1, 1, 1]])


def contrast(key: str, green: np.ndarray, codes: float = 30688.0) -> float:
    """Contrast score of one slice, highest in focus.

    Args:
        key: a row of `CONTRAST`.
        green: (row, col), pixels in [0, 1], float32 or float64.
        codes: codes between black and white of green (left plus right).
    """
    return CONTRAST[key](green, codes)


def stereo(key: str, left: np.ndarray, right: np.ndarray, codes: float = 15344.0) -> float:
    """Stereo score of one slice, highest in focus: minus the mismatch f of the paper.

    Args:
        key: a row of `STEREO`.
        left: (row, col), pixels in [0, 1], float32 or float64.
        right: the other view, same shape.
        codes: codes between black and white of one view.
    """
    return STEREO[key](left, right, codes)


def scores(key: str, pixels: np.ndarray) -> np.ndarray:
    """Scores (batch, slice) of `pixels` (batch, slice, view, row, col), one slice after the other.

    Green is the mean of the views, in the type of the pixels.
    """
    batch, slices, views = pixels.shape[:3]
    if key in STEREO and views != 2:
        raise InputError(f"{key} compares two views, got pixels of shape {pixels.shape}")
    result = np.empty((batch, slices))
    for b in range(batch):
        for s in range(slices):
            if key in STEREO:
                result[b, s] = stereo(key, pixels[b, s, 0], pixels[b, s, 1])
            else:
                result[b, s] = contrast(key, pixels[b, s].mean(axis=0))
    return result


# Operators: the names the formulae use.


def convolve(image: Image, kernel: np.ndarray) -> Image:
    """Valid interior of image * kernel."""
    result: Image = signal.convolve2d(image, kernel, mode="valid")
    return result


def sobel(image: Image) -> tuple[Image, Image]:
    """Horizontal and vertical Sobel responses."""
    return convolve(image, SOBEL_X), convolve(image, SOBEL_Y)


def blur(image: Image, sigma: float) -> Image:
    """Gaussian blur, truncated at 4 sigma, reflected border."""
    result: Image = ndimage.gaussian_filter(image, sigma, mode="reflect", truncate=4.0)
    return result


def cdf97(image: Image, level: int) -> tuple[Image, Image, Image, Image]:
    """Sub-bands LL, LH, HL, HH of one level of the CDF 9/7 wavelet, mirrored at the border."""
    import pywt  # noqa: PLC0415  # only the tests and `python -m lab.speed` need it

    low = image
    for _ in range(level):
        low, high = pywt.dwt2(low, "bior4.4", mode="symmetric")
    return low, *high


def im2col(image: Image, size: int) -> Image:
    """Non-overlapping blocks of size x size as columns; what lies beyond the last whole block is dropped."""
    rows, cols = image.shape[0] // size, image.shape[1] // size
    blocks = image[: rows * size, : cols * size].reshape(rows, size, cols, size)
    return blocks.transpose(1, 3, 0, 2).reshape(size * size, rows * cols)


# Contrast measures. `image` holds pixels or codes, as `CONTRAST` says.


def intensity_variance(image: Image) -> float:
    """Intensity Variance."""
    return float(np.var(image))


def intensity_coefficient_of_variation(image: Image) -> float:
    """Intensity Coefficient of Variation; 0 for a black image."""
    mean = np.mean(image)
    return float(np.sqrt(np.var(image)) / mean) if mean != 0 else 0.0


def total_variation_l1(image: Image) -> float:
    """Total Variation (L1), over every pair of neighbours inside the image."""
    return float(np.sum(np.abs(np.diff(image, axis=1))) + np.sum(np.abs(np.diff(image, axis=0))))


def total_variation_l2(image: Image) -> float:
    """Total Variation (L2), over every pair of neighbours inside the image."""
    return float(np.sum(np.diff(image, axis=1) ** 2) + np.sum(np.diff(image, axis=0) ** 2))


def laplacian_energy(image: Image) -> float:
    """Energy of Laplacian."""
    return float(np.sum(convolve(image, LAPLACE) ** 2))


def laplacian_variance(image: Image) -> float:
    """Laplacian Variance."""
    return float(np.var(convolve(image, LAPLACE)))


def modified_laplacian(image: Image) -> float:
    """Sum of Modified Laplacian, with L_x = [1, -2, 1]: the printed [1, -2, -1] is a misprint."""
    return float(np.sum(np.abs(convolve(image, LAPLACE_X)) + np.abs(convolve(image, LAPLACE_X.T))))


def diagonal_laplacian(image: Image) -> float:
    """Diagonal Laplacian, with L_x = [1, -2, 1] as above.

    L_yx = L_xy^T as printed. L_xy is symmetric, so this counts one diagonal twice and never the other.
    """
    kernels = (LAPLACE_X, LAPLACE_X.T, LAPLACE_XY, LAPLACE_XY.T)
    return float(sum(np.sum(np.abs(convolve(image, kernel))) for kernel in kernels))


def gradient_magnitude_mean(image: Image) -> float:
    """Mean Gradient Magnitude, with the root as printed."""
    gx, gy = sobel(image)
    return float(np.mean(np.sqrt(gx**2 + gy**2)))


def gradient_magnitude_variance(image: Image) -> float:
    """Gradient Magnitude Variance."""
    gx, gy = sobel(image)
    return float(np.var(np.sqrt(gx**2 + gy**2)))


def gradient_count(codes: Image32, threshold: float) -> float:
    """Gradient Count: edges in x and edges in y per pixel. Sums of float32 codes are exact in float64."""
    gx, gy = sobel(codes.astype(np.float64))
    return float(np.mean((np.abs(gx) > threshold).astype(int) + (np.abs(gy) > threshold).astype(int)))


def percentile_range(image: Image, p: float) -> float:
    """Percentile Range, percentiles linearly interpolated."""
    return float(np.percentile(image, 100 - p) - np.percentile(image, p))


def histogram_entropy(image: Image) -> float:
    """Histogram Entropy in nats, of relative frequencies in 256 bins over [0, 1], with 0 log 0 = 0."""
    counts, _ = np.histogram(image, bins=256, range=(0.0, 1.0))
    n = counts[counts > 0] / image.size
    return float(-np.sum(n * np.log(n)))


def dct_energy_ratio(image: Image) -> float:
    """DCT Energy Ratio, orthonormal DCT of the whole patch; 0 for a black image."""
    D = fft.dctn(image, type=2, norm="ortho")
    dc = D[0, 0] ** 2
    return float((np.sum(D**2) - dc) / dc) if dc != 0 else 0.0


def dct_reduced_energy_ratio(image: Image) -> float:
    """DCT Reduced Energy Ratio, orthonormal DCT of the whole patch; 0 for a black image."""
    D = fft.dctn(image, type=2, norm="ortho")
    dc = D[0, 0] ** 2
    lowest = D[0, 1] ** 2 + D[1, 0] ** 2 + D[0, 2] ** 2 + D[1, 1] ** 2 + D[2, 0] ** 2
    return float(lowest / dc) if dc != 0 else 0.0


def modified_dct(image: Image) -> float:
    """Modified DCT: the signed sum, as printed."""
    return float(np.sum(convolve(image, CHECKERBOARD)))


def wavelet_sum(image: Image, level: int) -> float:
    """Wavelet Sum."""
    _, lh, hl, hh = cdf97(image, level)
    return float(np.sum(np.abs(lh) + np.abs(hl) + np.abs(hh)))


def wavelet_variance(image: Image, level: int) -> float:
    """Wavelet Variance."""
    _, lh, hl, hh = cdf97(image, level)
    return float(np.var(lh) + np.var(hl) + np.var(hh))


def wavelet_ratio(image: Image, level: int) -> float:
    """Wavelet Ratio; 0 for a black image."""
    ll, lh, hl, hh = cdf97(image, level)
    low = np.sum(ll**2)
    return float(np.sum(lh**2 + hl**2 + hh**2) / low) if low != 0 else 0.0


def wavelet_log_ratio(codes: Image, level: int) -> float:
    """Mean Wavelet Log-Ratio, with a floor of 1e-12 on the numerator: flat ground would be log 0."""
    ll, lh, hl, hh = cdf97(codes, level)
    return float(np.mean(np.log((lh**2 + hl**2 + hh**2 + 1e-12) / (ll**2 + 1))))


def eigenvalue_trace(image: Image) -> float:
    """Eigenvalue Trace, of the sample covariance of 4 x 4 blocks."""
    return float(np.trace(np.cov(im2col(image, 4), ddof=1)))


def local_ratio(codes: Image, sigma: float) -> float:
    """Mean Local Ratio."""
    smooth = blur(codes, sigma)
    return float(np.mean(np.maximum((smooth + 1) / (codes + 1), (codes + 1) / (smooth + 1))))


def local_log_ratio(codes: Image, sigma: float) -> float:
    """Mean Local Log-Ratio."""
    smooth = blur(codes, sigma)
    return float(np.exp(np.mean(np.abs(np.log((codes + 1) / (smooth + 1))))))


def local_norm_dist_sq(codes: Image, sigma: float) -> float:
    """Mean Local Norm-Dist-Sq."""
    smooth = blur(codes, sigma)
    return float(np.mean((codes - smooth) ** 2 / (smooth**2 + 1)))


# What a measure sees.


def of_pixels(measure: Callable[..., float], **parameters: Any) -> Callable[[np.ndarray, float], float]:
    """`measure` on pixels, in float64."""

    def score(green: np.ndarray, _codes: float) -> float:
        return measure(green.astype(np.float64), **parameters)

    return score


def of_codes(measure: Callable[..., float], **parameters: Any) -> Callable[[np.ndarray, float], float]:
    """`measure` on codes, in float64."""

    def score(green: np.ndarray, codes: float) -> float:
        return measure(green.astype(np.float64) * codes, **parameters)

    return score


def of_codes32(measure: Callable[..., float], **parameters: Any) -> Callable[[np.ndarray, float], float]:
    """`measure` on codes rounded to float32."""

    def score(green: np.ndarray, codes: float) -> float:
        return measure(green.astype(np.float32) * np.float32(codes), **parameters)

    return score


def minus_of_pixels(mismatch: Callable[..., float]) -> Callable[[np.ndarray, np.ndarray, float], float]:
    """Minus `mismatch` of pixels, in float64; -inf where a flat view cannot be normalised."""

    def score(left: np.ndarray, right: np.ndarray, _codes: float) -> float:
        # A flat view's standard deviation is 0, but rounding may leave 1e-17: ask for flatness itself.
        if left.min() == left.max() or right.min() == right.max():
            return -np.inf
        return -mismatch(left.astype(np.float64), right.astype(np.float64))

    return score


def minus_of_codes32(
    mismatch: Callable[..., float], **parameters: Any
) -> Callable[[np.ndarray, np.ndarray, float], float]:
    """Minus `mismatch` of codes rounded to float32."""

    def score(left: np.ndarray, right: np.ndarray, codes: float) -> float:
        scale = np.float32(codes)
        return -mismatch(left.astype(np.float32) * scale, right.astype(np.float32) * scale, **parameters)

    return score


CONTRAST: dict[str, Callable[[np.ndarray, float], float]] = {
    "dct-reduced-energy-ratio": of_pixels(dct_reduced_energy_ratio),
    "total-variation-l1": of_pixels(total_variation_l1),
    "histogram-entropy": of_pixels(histogram_entropy),
    "modified-dct": of_pixels(modified_dct),
    "gradient-count-3": of_codes32(gradient_count, threshold=3.0),
    "gradient-count-10": of_codes32(gradient_count, threshold=10.0),
    "dct-energy-ratio": of_pixels(dct_energy_ratio),
    "eigenvalue-trace": of_pixels(eigenvalue_trace),
    "intensity-variance": of_pixels(intensity_variance),
    "intensity-coefficient-of-variation": of_pixels(intensity_coefficient_of_variation),
    "percentile-range-3": of_pixels(percentile_range, p=3.0),
    "percentile-range-1": of_pixels(percentile_range, p=1.0),
    "percentile-range-0.3": of_pixels(percentile_range, p=0.3),
    "total-variation-l2": of_pixels(total_variation_l2),
    "modified-laplacian": of_pixels(modified_laplacian),
    "diagonal-laplacian": of_pixels(diagonal_laplacian),
    "laplacian-energy": of_pixels(laplacian_energy),
    "laplacian-variance": of_pixels(laplacian_variance),
    "local-log-ratio-1": of_codes(local_log_ratio, sigma=1.0),
    "local-ratio-1": of_codes(local_ratio, sigma=1.0),
    "local-norm-dist-sq-1": of_codes(local_norm_dist_sq, sigma=1.0),
    "wavelet-sum-2": of_pixels(wavelet_sum, level=2),
    "gradient-magnitude-mean": of_pixels(gradient_magnitude_mean),
    "wavelet-variance-2": of_pixels(wavelet_variance, level=2),
    "gradient-magnitude-variance": of_pixels(gradient_magnitude_variance),
    "wavelet-variance-3": of_pixels(wavelet_variance, level=3),
    "wavelet-ratio-3": of_pixels(wavelet_ratio, level=3),
    "wavelet-log-ratio-2": of_codes(wavelet_log_ratio, level=2),
    "local-ratio-2": of_codes(local_ratio, sigma=2.0),
    "wavelet-ratio-2": of_pixels(wavelet_ratio, level=2),
    "local-log-ratio-2": of_codes(local_log_ratio, sigma=2.0),
    "wavelet-sum-3": of_pixels(wavelet_sum, level=3),
    "local-norm-dist-sq-2": of_codes(local_norm_dist_sq, sigma=2.0),
    "local-ratio-4": of_codes(local_ratio, sigma=4.0),
    "local-log-ratio-4": of_codes(local_log_ratio, sigma=4.0),
    "wavelet-log-ratio-3": of_codes(wavelet_log_ratio, level=3),
    "local-norm-dist-sq-4": of_codes(local_norm_dist_sq, sigma=4.0),
}
"""Contrast score of (green, codes), one row for each key, in the order of the paper's table."""

STEREO: dict[str, Callable[[np.ndarray, np.ndarray, float], float]] = {
    "normalized-sad": minus_of_pixels(normalized_sad),
    "ternary-census-30": minus_of_codes32(ternary_census_l1, eps=30.0),
    "normalized-cross-correlation": minus_of_pixels(normalized_cross_correlation),
    "rank-transform": minus_of_codes32(rank_transform),
    "census-transform": minus_of_codes32(census_transform),
    "ternary-census-10": minus_of_codes32(ternary_census_l1, eps=10.0),
    "normalized-envelope-l2": minus_of_pixels(normalized_envelope_l2),
    "normalized-envelope-l1": minus_of_pixels(normalized_envelope_l1),
}
"""Stereo score, minus f, of (left, right, codes), one row for each key, in the order of the paper's table."""
