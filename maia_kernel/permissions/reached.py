"""Python code as rules see it: the commands, files and hosts that its text names, and the words for them."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from maia_kernel.hosts import normal_host
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.python import Finding, findings
from maia_kernel.permissions.python_names import UNKNOWN
from maia_kernel.permissions.subject import PathAccess, Subject
from maia_kernel.texts import text

_TOLD = 6  # findings on a card
_LONGEST = 100  # characters of one of them


def calls_within(subject: Subject, policy: Policy) -> Iterator[Subject]:
    """What the code of `subject` calls, each as the tool's call that it is like.

    Deny and ask rules and the two always-asked lists are tried on them. A part that is not known is
    left to the rules that speak of a whole tool.
    """
    if subject.code is None:
        return
    found = findings(subject.code)
    accesses = tuple(_access(one, policy) for one in found if _is_path(one))
    if accesses:
        yield Subject(subject.tool, read_only=False, paths=accesses, code=subject.code)
    for one in found:
        if one.kind == "shell":
            yield Subject("Bash", read_only=False, command=one.what or UNKNOWN)
        elif one.kind == "network":
            yield Subject("WebFetch", read_only=False, text=_domain(one.what))


def explained(code: str) -> str:
    """One sentence that says what the code does, as far as can be seen; empty when nothing is to say."""
    found = findings(code)
    told = [_told(one) for one in found[:_TOLD]]
    if len(found) > _TOLD:
        told.append(text("permissions.python.more", count=len(found) - _TOLD))
    return text("permissions.python.does", what="; ".join(told)) if told else ""


def _told(one: Finding) -> str:
    what = " ".join(one.what.split())
    what = f"{what[:_LONGEST]}…" if len(what) > _LONGEST else what
    name = (
        one.kind if what or one.kind in ("code", "machine", "unreadable") else f"{one.kind}_unknown"
    )
    return text(f"permissions.python.{name}", what=what)


def _is_path(one: Finding) -> bool:
    return one.kind in ("read", "write", "remove") and bool(one.what) and "\x00" not in one.what


def _access(one: Finding, policy: Policy) -> PathAccess:
    written = one.what
    if written == "~" or written.startswith("~/"):
        written = f"{policy.home}{written[1:]}"
    path = Path(os.path.normpath(policy.cwd / written))
    resolved = policy.resolve(path)
    return PathAccess(path, resolved, write=one.kind != "read", removes=one.kind == "remove")


def _domain(url: str) -> str:
    try:
        host = urlsplit(url).hostname
        return f"domain:{normal_host(host)}" if host else ""
    except ValueError:
        return ""
