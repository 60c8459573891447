"""From predictions to numbers and pictures.

* `predict`: what methods answer; `origin`: of which data; `gallery`: example patches beside the answers.
* `metrics`: the paper's six numbers, and tables of them; `intervals`: how sure they are; `trust`: confidence.
* `tally`: predictions, counted in one pass; `tables`: the paper's Tables 1 to 5; `formats`: as text.
* `paper`: the numbers that the paper prints, to set beside ours.
* `figures`, `curves`, `explained`, `examples`: pictures; `page`: one page of HTML with all of it.
"""

from dioptre.evaluate.metrics import Metrics, errors_to_metrics, format_rows, measure, table_row

__all__ = ["Metrics", "errors_to_metrics", "format_rows", "measure", "table_row"]
