"""`.env` of the working folder: MAIA's own keys and settings in it, below the real environment.

Only what MAIA itself reads is taken, and nothing of it reaches a child process.
"""

import io
from pathlib import Path

from maia_kernel.paths import shown
from maia_kernel.settings.items import make_item
from maia_kernel.settings.keys import hidden_names, is_key_name
from maia_kernel.settings.reading import UnfitError, Warn, content
from maia_kernel.settings.trust import Gate
from maia_kernel.texts import text

_PREFIXES = ("MAIA_", "ANTHROPIC_", "OPENAI_", "CLAUDE_CODE_")
_NAMES = frozenset({"API_TIMEOUT_MS", "MAX_THINKING_TOKENS"})
# What decides about trust or the folder itself cannot come from the folder.
_NEVER = frozenset({"MAIA_TRUST", "MAIA_BARE", "MAIA_CWD", "CLAUDE_CODE_SIMPLE"})
_LIMIT = 256 * 1024


def read_dotenv(cwd: Path, gate: Gate, also: frozenset[str], warn: Warn) -> dict[str, str]:
    """The variables of `cwd/.env` that MAIA reads and the person trusts.

    `also` are names that the person's own files take from the environment. Nothing is expanded.
    """
    file = cwd / ".env"
    try:
        raw = content(file)
        if raw is None:
            return {}
        if len(raw) > _LIMIT:
            raise UnfitError(text("trust.dotenv_large", file=shown(file), size=_LIMIT // 1024))
        words = raw.decode("utf-8-sig")
    except UnfitError as fault:
        warn(str(fault))
        return {}
    except OSError as error:
        warn(text("settings.unreadable", file=shown(file), cause=error.strerror or "OSError"))
        return {}
    except UnicodeDecodeError as error:
        warn(text("settings.unreadable", file=shown(file), cause=type(error).__name__))
        return {}
    kept = {}
    for name, value in _variables(words, file, warn).items():
        if not _is_ours(name, also) or "\x00" in value:
            continue
        detail = f"{name}={shown_value(name, value)}"
        if gate.passes(make_item("dotenv", name, value, file=file, folder=cwd, detail=detail)):
            kept[name] = value
    return kept


def shown_value(name: str, value: str) -> str:
    """The value of a variable as a person may see it: a key shows as stars."""
    return "***" if is_key_name(name) else value


def _variables(words: str, file: Path, warn: Warn) -> dict[str, str]:
    from dotenv.parser import parse_stream  # only where there is such a file

    found = {}
    for binding in parse_stream(io.StringIO(words)):
        if binding.error:
            warn(text("trust.dotenv_line", file=shown(file), line=binding.original.line))
        elif binding.key and binding.value is not None:
            found[binding.key] = binding.value
    return found


def _is_ours(name: str, also: frozenset[str]) -> bool:
    if name in _NEVER:
        return False
    return name.startswith(_PREFIXES) or name in _NAMES | also or name in hidden_names()
