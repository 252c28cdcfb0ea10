"""The command lists as data: read-only commands with their harmless flags, wrappers, names."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Takes = Literal["nothing", "text", "path", "optional"]
_ENDINGS: dict[str, Takes] = {"=": "text", "@": "path", "?": "optional"}


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of a command: what each takes; `number` for `-5`; words of one dash, or letters."""

    takes: Mapping[str, Takes]
    number: bool = False
    single_dash: bool = False

    @classmethod
    def of(cls, written: str, *, single_dash: bool = False) -> "Flags":
        """The flags that a data file lists in one string."""
        takes: dict[str, Takes] = {}
        for flag in written.split():
            kind = _ENDINGS.get(flag[-1], "nothing")
            takes[flag if kind == "nothing" else flag[:-1]] = kind
        return cls(takes, number=takes.pop("-#", None) is not None, single_dash=single_dash)


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """One read-only command form; the fields are explained in `read_only_commands.toml`."""

    flags: Flags
    operands: str = "paths"
    first: str | None = None
    script: tuple[str, ...] = ()
    limit: int | None = None
    at_least: int = 0
    at_least_flags: int = 0
    syntax: tuple[str, ...] = ()
    refs: bool = False
    test: bool = False
    loose: bool = False
    names: bool = False
    deep: tuple[str, ...] | bool = False
    shallow: tuple[str, ...] = ()
    blobs: bool = False
    nested: bool = False
    needs: tuple[str, ...] = ()
    listing: tuple[str, ...] = ()
    files: bool = False


@dataclass(frozen=True, slots=True)
class SubCommands:
    """A program whose first operand picks the form; `options` may stand before it."""

    options: Flags
    forms: Mapping[str, ReadOnly]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A command that runs the command in its arguments, after `skip` operands of its own."""

    flags: Flags
    skip: int = 0
    assignments: bool = False
    split: tuple[str, ...] = ()
    through: bool = False


@dataclass(frozen=True, slots=True)
class Lists:
    """Everything that the data files say about commands."""

    read_only: Mapping[str, ReadOnly]
    sub: Mapping[str, SubCommands]
    wrappers: Mapping[str, Wrapper]
    shells: frozenset[str]
    interpreters: frozenset[str]
    evaluating: frozenset[str]
    texts: Mapping[str, tuple[str, ...]]
    scripting: frozenset[str]
    global_options: Mapping[str, Wrapper]
    never: frozenset[str]
    builtins: frozenset[str]
    exact: frozenset[str]
    exact_words: Mapping[str, tuple[str, ...]]
    safe_variables: frozenset[str]
    shown_variables: frozenset[str]
    multi: frozenset[str] = field(default_factory=frozenset)
    running: frozenset[str] = field(default_factory=frozenset)
    scripts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def lists() -> Lists:
    """The lists, read once."""
    shell = _data("shell.toml")
    read_only = _data("read_only_commands.toml")
    names, variables, offers = shell["names"], shell["variables"], shell["offers"]
    return Lists(
        read_only={name: _form(form) for name, form in read_only["commands"].items()},
        sub={name: _subcommands(table) for name, table in read_only["sub"].items()},
        wrappers={
            **{name: _wrapper(row, through=False) for name, row in shell["behind"].items()},
            **{name: _wrapper(row, through=True) for name, row in shell["through"].items()},
        },
        shells=frozenset(names["shells"]),
        interpreters=frozenset(names["interpreters"]) | frozenset(names["shells"]),
        evaluating=frozenset(names["evaluating"]),
        texts={name: tuple(marks) for name, marks in shell["texts"].items()},
        scripting=frozenset(names["scripting"]),
        global_options={
            name: Wrapper(Flags.of(written)) for name, written in shell["global_options"].items()
        },
        never=frozenset(names["never"]),
        builtins=frozenset(names["builtins"]),
        exact=frozenset(names["exact"]),
        exact_words={name: tuple(words) for name, words in names["exact_words"].items()},
        safe_variables=frozenset(variables["safe"]),
        shown_variables=frozenset(variables["shown"]),
        multi=frozenset(offers["multi"]),
        running=frozenset(offers["running"]),
        scripts={name: tuple(words) for name, words in offers["scripts"].items()},
    )


def _data(name: str) -> dict[str, Any]:
    source = files("maia_kernel.permissions") / name
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _form(row: Mapping[str, Any]) -> ReadOnly:
    values = dict(row)
    single_dash = values.pop("single_dash", False)
    values["flags"] = Flags.of(values["flags"], single_dash=single_dash)
    for name in ("script", "syntax", "shallow", "needs", "listing"):
        values[name] = tuple(values.get(name, ()))
    if isinstance(values.get("deep"), list):
        values["deep"] = tuple(values["deep"])
    for name in ("operands", "first"):
        if name in values:
            re.compile(values[name])
    return ReadOnly(**values)


def _subcommands(table: Mapping[str, Any]) -> SubCommands:
    forms = {name: _form(form) for name, form in table.items() if name != "global"}
    return SubCommands(Flags.of(table["global"]), forms)


def _wrapper(row: Mapping[str, Any], *, through: bool) -> Wrapper:
    return Wrapper(
        Flags.of(row["flags"]),
        row.get("skip", 0),
        row.get("assignments", False),
        tuple(row.get("split", ())),
        through,
    )
