"""A file that a command printed whole counts as read: models look at files with `cat`, too."""

import re
import shlex
from pathlib import Path

from maia_kernel import files, paths
from maia_kernel.processes import Completed
from maia_kernel.tools.base import ToolContext
from maia_kernel.tools.file_access import Target, remember

_PLAIN = re.compile(r"\s*cat\s+(?:--\s+)?[^\s$`*?\[{~<>|&;()#-][^$`*?\[{~<>|&;()#\n]*")


def remember_printed(command: str, folder: Path, done: Completed, context: ToolContext) -> None:
    """Record the file of `cat FILE`, run in `folder`, if what it printed is the file as it is now."""
    if done.ending != "exited" or done.exit_code != 0 or not _PLAIN.fullmatch(command):
        return
    try:
        words = [word for word in shlex.split(command)[1:] if word != "--"]
    except ValueError:  # an open quote
        return
    if len(words) != 1:
        return
    path = paths.expand(words[0], folder)
    target = Target(path, paths.resolve(path))
    try:
        file = files.read_text(target.resolved)
    except files.Unreadable:
        return
    if file.mark == b"" and file.encoding == "utf-8" and file.text == done.output:
        remember(context, target, digest=file.digest, mtime_ns=file.mtime_ns)
