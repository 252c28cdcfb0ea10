"""The sandbox of one conversation: what is in force, its temporary folder, commands put into it."""

import asyncio
import ctypes
import fnmatch
import json
import platform
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from maia_kernel.errors import SandboxError
from maia_kernel.permissions import Policy
from maia_kernel.sandbox import enter
from maia_kernel.sandbox.landlock import landlock_plan
from maia_kernel.sandbox.mechanism import Found, find_mechanism, started, why_not
from maia_kernel.sandbox.survey import hold_back, kept_from, protected_below, survey
from maia_kernel.sandbox.values import Confined, SandboxSettings
from maia_kernel.texts import text


class Sandbox:
    """Puts commands into the sandbox that works here. `policy` gives the rules of the moment.

    Until `prepare` found one (or `found` was given), nothing is in force and nothing is put anywhere.
    """

    def __init__(
        self,
        settings: SandboxSettings,
        policy: Callable[[], Policy],
        *,
        found: Found | None = None,
    ) -> None:
        self.settings = settings
        self._policy = policy
        self._found = found
        self._copies = False
        self._temp: Path | None = None

    @property
    def in_force(self) -> bool:
        """True when commands are put into a sandbox."""
        return self.settings.enabled and self._found is not None and self._found.name is not None

    @property
    def auto_allows(self) -> bool:
        """True when what runs in the sandbox needs no question."""
        return self.in_force and self.settings.auto_allow

    @property
    def holds_copies(self) -> bool:
        """True when a copy of this process can be kept within the bounds: Landlock needs no new program."""
        return self.in_force and self._copies

    async def prepare(self) -> str | None:
        """Find out what works, once; a line for the person when the sandbox is on and nothing does."""
        if not self.settings.enabled or self._found is not None:
            return None
        self._found = await find_mechanism()
        if self._found.name is None:
            return text("sandbox.unavailable", cause=" ".join(self._found.why_not))
        self._copies = platform.system() == "Linux" and await why_not("landlock") is None
        return None

    def temp(self) -> Path:
        """The private temporary folder, made when first asked for and removed with this object."""
        if self._temp is None or not self._temp.is_dir():
            self._temp = Path(tempfile.mkdtemp(prefix="maia-"))
            weakref.finalize(self, shutil.rmtree, self._temp, ignore_errors=True)
        return self._temp

    def environment(self, environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        """`environ` for a command inside: without keys and sockets, its temporary folder set.

        `own` are the variables that the person's settings give, which stay.
        """
        patterns = kept_from().variables
        kept = {
            name: value
            for name, value in environ.items()
            if name in own or not any(fnmatch.fnmatchcase(name.upper(), one) for one in patterns)
        }
        return {**kept, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(self.temp()))}

    async def confine_copy(self) -> Callable[[], None]:
        """What a forked copy of this process calls first, to stay within the bounds from then on.

        Raises:
            SandboxError: the bounds cannot be kept; nothing was started.
        """
        bounds = await asyncio.to_thread(survey, self._policy(), self.settings, self.temp())
        plan = json.loads(await asyncio.to_thread(landlock_plan, bounds))
        return lambda: enter.confine(ctypes.CDLL(None, use_errno=True), plan)

    @asynccontextmanager
    async def confined(self, argv: Sequence[str], folder: Path) -> AsyncIterator[Confined]:
        """`argv`, to be started in `folder` while this is open and to have ended when it closes.

        Afterwards `held` of the value names what the command made under protected names: it was
        renamed, so that nothing runs it.

        Raises:
            SandboxError: it cannot be kept within its bounds; nothing was started.
        """
        if self._found is None or self._found.name is None:
            raise SandboxError(text("sandbox.not_in_force"))
        policy, temp = self._policy(), self.temp()
        bounds = await asyncio.to_thread(survey, policy, self.settings, temp)
        roots = tuple(root for root in bounds.writable if root != bounds.temp)
        before = await asyncio.to_thread(protected_below, roots)
        with started(self._found.name, argv, folder, bounds) as confined:
            try:
                yield confined
            finally:
                confined.held += await asyncio.to_thread(hold_back, roots, before)
