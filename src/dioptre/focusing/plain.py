"""Plain values: what JSON can say. It has no word for NaN and infinity, which become None."""

import math
from collections.abc import Mapping
from typing import Any


def to_plain(value: Any) -> Any:
    """Returns a value as finite numbers, strings, lists and dictionaries; other numbers become None.

    Args:
        value: Of these, or of arrays, tuples, enumerations and whatever else; the latter becomes a string.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return to_plain(value.tolist()) if hasattr(value, "tolist") else str(value)
