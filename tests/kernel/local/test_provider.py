from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from maia_kernel.errors import LocalModelError, UsageError
from maia_kernel.localmodel.store import Store
from maia_kernel.messages import Message, Text
from maia_kernel.providers.base import Request
from maia_kernel.providers.local import LocalProvider


@pytest.fixture
async def provider(environ: dict[str, str]) -> AsyncIterator[LocalProvider]:
    """A local provider without any downloaded model."""
    local = LocalProvider(environ=environ)
    yield local
    await local.aclose()


async def ask(provider: LocalProvider, model: str) -> None:
    """Send one prompt and read the whole answer."""
    request = Request(model, (Message("user", (Text("Hello"),)),))
    async for _ in provider.stream(request):
        pass


async def test_a_small_model_is_asked_for_answers_only(provider: LocalProvider) -> None:
    """It has no tools, a short prompt, one more try, and a note that names it as small."""
    what = provider.capabilities("smollm2")

    assert (what.tools, what.prompt_profile, what.broken_retries) == (False, "short", 1)
    assert "small local model (smollm2)" in what.answer_note
    assert "ANTHROPIC_API_KEY" in what.answer_note
    assert "\n" not in what.answer_note


async def test_a_model_that_is_not_downloaded_says_how_to_get_it(provider: LocalProvider) -> None:
    """The first request fails with the command and the size."""
    with pytest.raises(LocalModelError, match=r"98 MB\).*maia model get smollm2"):
        await ask(provider, "smollm2")
    with pytest.raises(UsageError, match=r"Known: qwen-coder-1\.5b"):
        await ask(provider, "gpt-9")


async def test_with_nothing_downloaded_the_known_ones_are_listed(provider: LocalProvider) -> None:
    """The list says of each that it is not downloaded, and how to get it."""
    listed = await provider.models()

    assert listed[0].spec == "local:qwen-coder-1.5b"
    assert all("maia model get" in one.detail for one in listed)


async def test_with_something_downloaded_only_that_is_listed(
    provider: LocalProvider, environ: dict[str, str], tmp_path: Path
) -> None:
    """What could be used now is listed, one's own files too."""
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"GGUF and more")
    Store(Path(environ["MAIA_MODEL_DIR"])).register(own)

    assert [one.spec for one in await provider.models()] == ["local:mine"]


async def test_a_file_the_server_cannot_read_is_an_error_with_the_log(
    provider: LocalProvider, environ: dict[str, str], tmp_path: Path
) -> None:
    """Broken weights end as one line that names the log, and leave no process."""
    own = tmp_path / "broken.gguf"
    own.write_bytes(b"GGUF" + bytes(5000))
    Store(Path(environ["MAIA_MODEL_DIR"])).register(own)

    with pytest.raises(LocalModelError, match=r"cannot run broken.*server\.log"):
        await ask(provider, "broken")

    assert servers() == []


def servers() -> list[psutil.Process]:
    """The model servers that this process has started."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if "maia_kernel.localmodel.server" in child.cmdline()
    ]
