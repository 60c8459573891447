"""The flags of a command: its dataclass read as help, and a command line read as its dataclass.

tyro reads the values. A field that is a dataclass itself is a group of flags, titled by what is said of the
field. Help is 80 columns wide.
"""

import inspect
import io
import re
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from itertools import dropwhile, takewhile
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from dioptre.cli.console import did_you_mean
from dioptre.errors import InputError

WIDTH: Final = 80  # columns of a terminal
MARGIN: Final = 22  # columns before what is said of a flag
WORDINGS: Final = (  # of tyro, about values
    re.compile(r"Error parsing (?P<flag>--[\w-]+): .*?'(?P<value>[^']*)'"),
    re.compile(r"invalid choice '(?P<value>.*?)' for argument '(?P<flag>.*?)'"),
    re.compile(r"Missing value for argument '(?P<flag>.*?)'"),
)
OF_A_GROUP: Final = re.compile(r"^Error parsing [a-z]\w*: ")  # and then what a group of flags says itself
NUMBERS: Final = {int: "N", float: "NUMBER"}


@dataclass(frozen=True)
class Flag:
    """A flag, or a positional argument.

    Attributes:
        name: With its hyphens; empty for a positional argument.
        value: What stands for its value; empty if it takes none.
        text: What is said of it.
        required: Whether a command line must have it.
    """

    name: str
    value: str
    text: str
    required: bool

    @property
    def usage(self) -> str:
        """The flag with its placeholder, as in usage lines."""
        return f"{self.name} {self.value}".strip()


def explain(name: str, config: type) -> str:
    """Returns the help of a command."""
    groups = flag_groups(config)
    every = [flag for group in groups.values() for flag in group]
    needed = " ".join(flag.usage for flag in every if flag.name and flag.required)
    given = " ".join(flag.value for flag in every if not flag.name)
    usage = " ".join(filter(None, ("usage: dioptre", name, needed, "[FLAGS]", given)))
    about, _ = _docstring(config)
    paragraphs = [_filled(paragraph) for paragraph in about.split("\n\n")]
    told = ["\n".join([f"{title}:", *map(_described, group)]) for title, group in groups.items()]
    return "\n\n".join([usage, *paragraphs, *told]) + "\n"


def parse(name: str, config: type, arguments: Sequence[str]) -> Any:
    """Returns the dataclass of a command that a command line describes.

    Raises:
        InputError: If there is no such flag, or a value cannot be used.
    """
    every = [flag for group in flag_groups(config).values() for flag in group]
    _refuse_unknown(name, {flag.name: flag for flag in every if flag.name}, arguments)
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):  # tyro has colours where stdout is a terminal
            found, left = tyro.cli(  # type: ignore[var-annotated]
                config,
                prog=f"dioptre {name}",
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
                registry=_forms(),
                return_unknown_args=True,
            )
    except SystemExit:
        complaint = _reworded(_complaint(said.getvalue()), name, every, arguments)
        raise InputError(f"{complaint} (dioptre {name} --help)") from None
    if left:
        raise InputError(f"{name} does not know what to do with {left[0]!r} (dioptre {name} --help)")
    return found


def flag_groups(config: type) -> dict[str, list[Flag]]:
    """Returns the flags of a command in the order of its fields, in their groups, each with its title."""
    _, texts = _docstring(config)
    hints = get_type_hints(config, include_extras=True)
    groups: dict[str, list[Flag]] = {"Arguments": []}
    ungrouped = ""
    for field in fields(config):
        kind, marks = _unwrapped(hints[field.name])
        if isinstance(kind, type) and is_dataclass(kind):
            for group in flag_groups(kind).values():
                groups[texts[field.name].removesuffix(".")] = group
        else:
            flag = _flag(field, kind, marks, texts[field.name])
            if flag.name:
                ungrouped = ungrouped or ("Other flags" if len(groups) > 1 else "Flags")
            groups.setdefault(ungrouped if flag.name else "Arguments", []).append(flag)
    return {title: group for title, group in groups.items() if group}


def _flag(field: "Field[Any]", kind: Any, marks: tuple[Any, ...], text: str) -> Flag:
    """Returns the flag that a field is."""
    name = "" if tyro.conf.Positional in marks else "--" + field.name.replace("_", "-")
    values = [mark.metavar for mark in marks if hasattr(mark, "metavar")]
    missing = field.default is MISSING and field.default_factory is MISSING
    values += [field.metadata["value"]] if "value" in field.metadata else []
    value = values[0] if values else _value(kind, field.name)
    return Flag(name, value, _with_default(text, field), missing)


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Returns a type without what annotates it and without None, and what annotates it."""
    marks: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        marks = tuple(rest)
    if get_origin(hint) in (Union, UnionType):
        kinds = [one for one in get_args(hint) if one is not NoneType]
        hint = float if kinds == [float, int] else kinds[0]
    return hint, marks


def _forms() -> ConstructorRegistry:
    """Returns the rules that let tyro read numbers with commas (`10,25`), and any word for the type Any."""
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def of(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kinds = get_args(info.type)
        if info.type_origin is tuple and Ellipsis not in kinds:
            return PrimitiveConstructorSpec(
                1, "N,N", lambda words: _listed(words[0], kinds), lambda value: isinstance(value, tuple), list
            )
        if info.type is Any:
            return PrimitiveConstructorSpec(1, "", lambda words: words[0], lambda _: True, list)
        return None

    return registry


def _listed(text: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the numbers of a text such as `1,2`, each converted to its type."""
    parts = text.split(",")
    if len(parts) != len(kinds):
        raise ValueError(f"Error parsing: '{text}'")
    return tuple(_unwrapped(kind)[0](part) for kind, part in zip(kinds, parts, strict=True))


def _value(kind: Any, name: str) -> str:
    """Returns the placeholder of a flag's value in help, such as N or FILE."""
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    if get_origin(kind) is tuple:
        kinds = [_unwrapped(one)[0] for one in get_args(kind) if one is not Ellipsis]
        return ",".join(_value(one, name) for one in kinds)
    return NUMBERS.get(kind, name.upper())


def _with_default(text: str, field: "Field[Any]") -> str:
    """Returns the help text of a flag, with its default unless the text has it or it is obvious."""
    if field.default is MISSING:
        return text
    default = field.default.value if isinstance(field.default, Enum) else field.default
    plain = default is None or isinstance(default, bool) or default in ("", ())
    if plain or "y default" in text:
        return text
    told = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{text} By default {told}."


def _docstring(config: type) -> tuple[str, dict[str, str]]:
    """Returns the description in a dataclass's docstring, and the text of each field, inherited ones too."""
    about, _, attributes = inspect.getdoc(config).partition("\n\nAttributes:\n")  # type: ignore[union-attr]
    texts, name = dict[str, str](), ""
    for parent in config.__bases__:
        texts |= _docstring(parent)[1] if is_dataclass(parent) else {}
    for line in textwrap.dedent(attributes).splitlines():
        if line.startswith(" "):
            texts[name] += f" {line.strip()}"
        else:
            name, _, text = line.partition(":")
            texts[name] = text.strip()
    return about, texts


def _described(flag: Flag) -> str:
    """Returns a flag and what is said of it, in as many lines as that takes."""
    margin = " " * MARGIN
    text = _filled(flag.text, margin)
    head = f"  {flag.usage}"
    return f"{head}\n{text}" if len(head) > MARGIN - 2 else f"{head:<{MARGIN}}{text.lstrip()}"


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _refuse_unknown(name: str, known: dict[str, Flag], arguments: Sequence[str]) -> None:
    """Raises InputError for an unknown flag, or for a required one that is missing."""
    given = []
    for word in arguments:
        if word == "--":
            break
        if word.startswith("--"):
            flag = "--" + word[2:].partition("=")[0].replace("_", "-")
            if flag not in known:
                raise InputError(
                    f"{name} has no flag {flag!r}{did_you_mean(flag, known, f'dioptre {name} --help')}"
                )
            given.append(flag)
    for flag, one in known.items():
        if one.required and flag not in given:
            raise InputError(f"{name} needs {one.usage} (dioptre {name} --help)")


def _complaint(text: str) -> str:
    """Returns the error message in tyro's output, without its title and the help below it."""

    def is_blank(line: str) -> bool:
        return not line.strip(" -")

    below_title = dropwhile(is_blank, text.splitlines()[1:])
    return " ".join(line.strip() for line in takewhile(lambda line: not is_blank(line), below_title))


def _reworded(complaint: str, name: str, flags: Sequence[Flag], arguments: Sequence[str]) -> str:
    """Returns an error message of tyro in the words of our help, where one of WORDINGS fits it."""
    if complaint.startswith("Missing from"):
        return f"{name} needs {' '.join(flag.usage for flag in flags if flag.required)}"
    values = {flag.name: flag.value for flag in flags}
    for wording in WORDINGS:
        found = wording.match(complaint)
        if found and found["flag"] in values:
            given = _as_typed(found.groupdict().get("value"), arguments)
            return f"{found['flag']} takes {values[found['flag']]}" + (f", not {given!r}" if given else "")
    return OF_A_GROUP.sub("", complaint).removesuffix(".")


def _as_typed(value: str | None, arguments: Sequence[str]) -> str | None:
    """Returns a value as its user typed it: tyro breaks its lines within long ones."""
    words = [word.partition("=")[2] if word.startswith("--") else word for word in arguments]
    bare = "".join((value or "").split())
    return next((word for word in words if bare and "".join(word.split()) == bare), value)
