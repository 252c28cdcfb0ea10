"""The files that an unquoted shell glob names, as bash would expand it."""

from glob import iglob
from itertools import islice
from pathlib import Path

GLOB_LIMIT = 1000


def expand_glob(pattern: str) -> tuple[Path, ...] | None:
    """The paths that `pattern` (absolute; only `*` and `?`) matches; None above `GLOB_LIMIT`."""
    # Unlike pathlib's, this `*` leaves hidden names out, as bash does.
    found = tuple(islice(iglob(pattern), GLOB_LIMIT + 1))  # noqa: PTH207
    return None if len(found) > GLOB_LIMIT else tuple(Path(path) for path in found)
