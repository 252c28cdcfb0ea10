"""The shell around a Bash command: its environment, where it ends up, what its exit code means."""

import os
import shlex
import stat
from pathlib import Path

from maia_kernel.processes import with_tame_git
from maia_kernel.tools.base import ToolContext

# Exit code 1 of these says "no" or "different", not "failed".
_ANSWERS = frozenset({"grep", "rg", "egrep", "fgrep", "zgrep", "find", "diff", "cmp", "test", "["})
_GIT_ANSWERS = frozenset({"diff", "grep"})
_SEPARATORS = frozenset(";&|\n()")
# A kernel sets these for a notebook's own output; in a pipe they only bring escape sequences.
_NOTEBOOK_ONLY = ("FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
_LONGEST_PATH = 65_536  # bytes
_PLAIN = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def child_environment(context: ToolContext, *, read_only: bool = False) -> dict[str, str]:
    """What a command sees: our environment without the keys MAIA uses, plus the settings' `env`.

    `read_only`: it runs unasked, so that git is also kept from what a repository tells it to run.
    """
    environment = dict(os.environ)
    for name in (*context.hidden_env, *_NOTEBOOK_ONLY):
        environment.pop(name, None)
    if environment.get("MPLBACKEND", "").startswith("module://matplotlib_inline"):
        del environment["MPLBACKEND"]  # the kernel's own, of no use to another process
    return with_tame_git(environment | _PLAIN | dict(context.env), read_only=read_only)


def with_folder_report(bash: str, command: str, report: Path) -> list[str]:
    """Arguments that run `command` and write its last working folder to the file `report`.

    What it prints and its exit code stay its own, also after `exit 3`. Nothing is reported where the
    command replaces the shell (`exec`) or is killed.
    """
    tell = f"builtin pwd -P >|{shlex.quote(str(report))} 2>/dev/null"
    # The trap covers `exit`; the end covers a command that sets an EXIT trap of its own. The command
    # comes as an argument, shifted away before it begins, so that no variable of ours is in sight.
    # One group on one line: bash has read all of it before a syntax error can put it out of step.
    script = (
        f'{{ trap {shlex.quote(tell)} EXIT; eval "shift; $1"; set -- "$?"; {tell}; exit "$1"; }}'
    )
    return [bash, "-c", script, "bash", command]


def read_folder(report: Path) -> Path | None:
    """The folder that a command reported, None if it did not."""
    try:
        # Whoever the command ran may have put anything in its place: a link, a pipe.
        descriptor = os.open(report, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        text = file.read(_LONGEST_PATH).decode("utf-8", "surrogateescape").removesuffix("\n")
    return Path(text) if text.startswith("/") else None


def exit_one_is_an_answer(command: str) -> bool:
    """Whether exit code 1 of `command` comes from a program that answers with it, as grep does."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    last: list[str] = []
    ended = False
    try:
        for token in lexer:
            if set(token) <= _SEPARATORS:
                ended = True
            else:
                last = [token] if ended else [*last, token]
                ended = False
    except ValueError:  # an open quote
        return False
    words = [word for word in last if "=" not in word.split("/")[0] or word.startswith("-")]
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    if name == "git" and len(words) > 1:
        return words[1] in _GIT_ANSWERS
    return name in _ANSWERS
