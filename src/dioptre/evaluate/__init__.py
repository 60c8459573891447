"""From predictions to numbers and pictures.

* `metrics`: the paper's six numbers, and tables of them.
* `paper`: the numbers that the paper prints, to set beside ours.
"""

from dioptre.evaluate.metrics import Metrics, errors_to_metrics, format_rows, measure, table_row

__all__ = ["Metrics", "errors_to_metrics", "format_rows", "measure", "table_row"]
