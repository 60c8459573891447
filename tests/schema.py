"""JSON Schema as far as docs/reference needs it: a value and a schema in, what is wrong out."""

import math
from collections.abc import Iterator
from typing import Any

IS = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
SAYS_NOTHING = {"$schema", "$defs", "title", "description"}
UNDERSTOOD = SAYS_NOTHING | {
    "$ref", "anyOf", "enum", "type", "properties", "required", "additionalProperties", "items", "minItems",
    "maxItems", "minimum", "maximum",
}  # fmt: skip


def faults(value: Any, schema: dict, root: dict | None = None, at: str = "") -> Iterator[str]:
    """Yields what of a value the schema forbids, each with its path."""
    root = schema if root is None else root
    assert set(schema) <= UNDERSTOOD, set(schema) - UNDERSTOOD
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    if "anyOf" in schema:
        each = [list(faults(value, one, root, at)) for one in schema["anyOf"]]
        yield from min(each, key=len)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    kinds = schema.get("type", list(IS))
    if not any(IS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{at}: {value!r} is no {kinds}"
    elif isinstance(value, dict):
        yield from _of_an_object(value, schema, root, at)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at}: {len(value)} items"
        for k, one in enumerate(value):
            yield from faults(one, schema.get("items", {}), root, f"{at}[{k}]")
    elif IS["number"](value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{at}: {value}"


def _of_an_object(value: dict, schema: dict, root: dict, at: str) -> Iterator[str]:
    yield from (f"{at}: no {name!r}" for name in schema.get("required", []) if name not in value)
    known = schema.get("properties", {})
    for name, one in value.items():
        if name in known:
            yield from faults(one, known[name], root, f"{at}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{at}: {name!r} is not in the schema"
