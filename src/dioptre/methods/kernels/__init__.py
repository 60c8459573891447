"""Fused numba kernels of the classical measures, by subject.

    cells        sums over cells
    intensity    moments, sums by the place in a block
    histogram    entropy, percentiles
    gradients    differences, Laplacians, Sobel
    blur         a Gaussian that reflects at borders
    local        contrast against that blur
    dct          the lowest cosine coefficients
    wavelet      subbands
    correlation  left against right, as they are and normalised
    census       left against right, by the order of neighbours
    matching     left against right, shifted

Every kernel takes `images`, (image, row, col) float32 pixels, C-contiguous, or `pairs`, (image, 2, row, col),
and runs on one core without the GIL; the callers share images out over threads. Two kinds:

* **Cell kernels** sum a pixel's response over the cells of a lattice: `rows` and `cols` are the cells'
  edges in response coordinates, `out` is (image, map, cell row, cell col) float64. One patch is a
  lattice of one column; a whole frame cut at the edges of all its patches shares every pixel
  (`dioptre.methods.frame`). A cell is at most `measure.CELL_ROWS` rows high, so that float32 column sums stay
  exact enough and the products of `local_cells` cannot overflow.
* **Patch kernels** return numbers of the whole image, where the measure orders, normalises or
  transforms the patch as a unit: `out` is (image, map) float64.

The inner loops run over one row and write at most two accumulators each: with more, LLVM gives up
proving that they do not overlap and leaves the loop scalar. Scalars are made float32 with `F` because
numba widens an integer times a float32 to float64.

NaN and infinity must not reach this package: callers replace such slices first.

A compiled kernel is kept on disk until its own file changes, whatever becomes of the files whose kernels it
calls: who changes `cells`, `blur` or `intensity` deletes __pycache__ here.
"""

from dioptre.methods.kernels.blur import transpose as transpose
from dioptre.methods.kernels.census import census_cells as census_cells
from dioptre.methods.kernels.census import ternary_cells as ternary_cells
from dioptre.methods.kernels.correlation import correlation_cells as correlation_cells
from dioptre.methods.kernels.correlation import mean_and_deviation as mean_and_deviation
from dioptre.methods.kernels.correlation import normalised_numbers as normalised_numbers
from dioptre.methods.kernels.dct import dct_numbers as dct_numbers
from dioptre.methods.kernels.gradients import difference_cells as difference_cells
from dioptre.methods.kernels.gradients import laplacian_cells as laplacian_cells
from dioptre.methods.kernels.gradients import sobel_cells as sobel_cells
from dioptre.methods.kernels.histogram import histogram_numbers as histogram_numbers
from dioptre.methods.kernels.intensity import moment_cells as moment_cells
from dioptre.methods.kernels.intensity import phase_cells as phase_cells
from dioptre.methods.kernels.local import local_bands as local_bands
from dioptre.methods.kernels.local import local_cells as local_cells
from dioptre.methods.kernels.local import local_corners as local_corners
from dioptre.methods.kernels.matching import divide_by_local_mean as divide_by_local_mean
from dioptre.methods.kernels.matching import halve as halve
from dioptre.methods.kernels.matching import match_tiles as match_tiles
from dioptre.methods.kernels.matching import smooth_tiles as smooth_tiles
from dioptre.methods.kernels.matching import ssd_curves as ssd_curves
from dioptre.methods.kernels.matching import tile_minima as tile_minima
from dioptre.methods.kernels.matching import zncc_curves as zncc_curves
from dioptre.methods.kernels.wavelet import wavelet_numbers as wavelet_numbers
