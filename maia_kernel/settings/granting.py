"""The person's word on what a project brings along, written into `~/.maia/trust.json`."""

from collections.abc import Iterable
from pathlib import Path

from maia_kernel.settings.items import ProjectItem
from maia_kernel.settings.layers import project_folders
from maia_kernel.settings.trust import (
    Verdict,
    is_home,
    trust_file,
    with_verdict,
    without_folders,
)
from maia_kernel.settings.values import Settings
from maia_kernel.settings.writer import change_object


def decide(settings: Settings, items: Iterable[ProjectItem], verdict: Verdict) -> frozenset[str]:
    """Write `verdict` on `items`; gives the digests that count for this session only.

    What belongs to the home folder itself is never written: whatever is started there would find it.

    Raises:
        SettingsError: the trust file is broken or cannot be written.
    """
    given = tuple(items)
    kept = [item for item in given if not is_home(item.folder, settings.home)]
    if kept:
        change_object(
            trust_file(settings.home), lambda data: with_verdict(data, kept, verdict), private=True
        )
    here = [item.digest for item in given if item not in kept]
    return frozenset(here) if verdict == "trusted" else frozenset()


def revoke(settings: Settings) -> tuple[Path, ...]:
    """Forget every word on the folders of this project; gives them.

    Raises:
        SettingsError: the trust file is broken or cannot be written.
    """
    folders = tuple(project_folders(settings.cwd, settings.home))
    if folders:
        file = trust_file(settings.home)
        change_object(file, lambda data: without_folders(data, folders), private=True)
    return folders
