"""Which provider a name means, and what the catalogue knows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from maia_kernel.errors import UsageError
from maia_kernel.providers import catalog, registry
from maia_kernel.providers.anthropic import AnthropicProvider
from maia_kernel.providers.openai import OpenAIProvider
from maia_kernel.providers.scripted import ScriptedProvider
from maia_kernel.settings import Settings, load
from maia_kernel.settings.keys import Keys
from maia_kernel.usage import Usage
from tests.support.replies import KEY, read
from tests.support.server import ModelServer

SERVERS = {
    "lab": {"family": "vllm", "url": "http://gpu.example.com:8000"},
    "gate": {"family": "anthropic", "url": "http://gate.example.com", "key": KEY},
}


@pytest.fixture
def settings(tmp_path: Path, home: Path) -> Settings:
    (home / ".maia").mkdir()
    (home / ".maia" / "servers.json").write_text(json.dumps(SERVERS))
    return load(tmp_path, environ={}, home=home)


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("anthropic:claude-x", ("anthropic", "claude-x")),
        ("lab:qwen:7b", ("lab", "qwen:7b")),
        ("scripted:a:b.yaml", ("scripted", "a:b.yaml")),
        (" openai:gpt-5.5 ", ("openai", "gpt-5.5")),
        ("claude-opus-5-5", ("anthropic", "claude-opus-5-5")),
        ("gpt-4.1-mini", ("openai", "gpt-4.1-mini")),
        ("sonnet", ("anthropic", "claude-sonnet-5-5")),
    ],
)
def test_a_spec_is_split_at_its_first_colon(
    settings: Settings, spec: str, parts: tuple[str, str]
) -> None:
    """Provider and model come apart at the first colon; aliases and known families need none."""
    assert registry.parse_spec(spec, settings) == parts


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("antropic:claude-x", "anthropic"),
        ("lba:qwen", "lab"),
        ("sonet", "sonnet"),
        ("nothing-like-it", "scripted"),
        ("openai:", "openai:MODEL"),
        ("", "Providers"),
    ],
)
def test_a_wrong_spec_names_the_nearest(settings: Settings, spec: str, named: str) -> None:
    """What cannot be understood is a line with what comes near it."""
    with pytest.raises(UsageError, match=named):
        registry.parse_spec(spec, settings)


def test_configured_providers_are_those_with_a_key_or_an_address(settings: Settings) -> None:
    """Servers of the settings are there; vendors only with a key."""
    assert {"lab", "gate"} <= set(registry.provider_names(settings, Keys()))
    assert "openai" not in registry.provider_names(settings, Keys())
    environ = {"OPENAI_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": KEY}
    keys = Keys.from_environ(environ, settings)
    assert {"openai", "anthropic"} <= set(registry.provider_names(settings, keys))


def test_each_name_opens_its_adapter(settings: Settings) -> None:
    """Vendors, servers by family and the script open as what they are, under their own name."""
    expected = {
        "anthropic": AnthropicProvider,
        "openai": OpenAIProvider,
        "lab": OpenAIProvider,
        "gate": AnthropicProvider,
        "scripted": ScriptedProvider,
    }
    for name, kind in expected.items():
        provider = registry.open_provider(name, settings, Keys(), {})
        assert type(provider) is kind
        assert provider.name == name
    with pytest.raises(UsageError, match="lab"):
        registry.open_provider("lap", settings, Keys(), {})


async def test_a_vendor_s_key_and_headers_follow_its_address(
    tmp_path: Path, home: Path, server: ModelServer
) -> None:
    """Base URL, key and headers of the environment go together, to the vendor's provider only."""
    environ = {
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_AUTH_TOKEN": KEY,
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue",
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_ORG_ID": "org-1",
    }
    settings = load(tmp_path, environ=environ, home=home)
    keys = Keys.from_environ(environ, settings)
    for name in ("anthropic", "openai"):
        provider = registry.open_provider(name, settings, keys, environ)
        server.reply("Hi")
        await read(provider)
        await provider.aclose()
    claude, gpt = (request.headers for request in server.requests)
    assert claude["authorization"] == gpt["authorization"] == f"Bearer {KEY}"
    assert (claude["x-team"], "x-team" in gpt) == ("blue", False)
    assert gpt["openai-organization"] == "org-1"


def test_looking_at_every_provider_loads_no_sdk() -> None:
    """Finding providers and parsing a spec imports neither SDK nor HTTP library."""
    code = """
import sys
from pathlib import Path
from maia_kernel.providers import registry
from maia_kernel.settings import Settings
from maia_kernel.settings.keys import Keys
settings = Settings(cwd=Path.cwd(), home=Path.home())
assert registry.parse_spec("sonnet", settings)[0] == "anthropic"
registry.provider_names(settings, Keys())
registry.open_provider("anthropic", settings, Keys(), {})
heavy = {"anthropic", "openai", "httpx2", "genai_prices", "xllamacpp"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_prices_count_the_cache_by_its_own_rate() -> None:
    """10,000 tokens read, half of them from the cache, cost what the list says."""
    usage = Usage(4_000, 1_000, 5_000, 1_000)
    assert catalog.price("anthropic:claude-sonnet-5-5", usage) == pytest.approx(0.021)
    assert catalog.price("claude-sonnet-5-5", usage) == pytest.approx(0.021)


@pytest.mark.parametrize(
    "model", ["anthropic:unheard-of", "lab:gpt-4o", "scripted:a.yaml", "x", ""]
)
def test_an_unknown_price_is_none(model: str) -> None:
    """A model nobody lists, or one on a server of one's own, has no price and is no error."""
    assert catalog.price(model, Usage(10, 10)) is None


def test_unknown_models_work_with_careful_guesses() -> None:
    """A model that is not in the table has tools, no pictures, and a window only at a vendor."""
    remote = catalog.capabilities("openai", "unheard-of")
    own = catalog.capabilities("lab", "unheard-of")
    assert (remote.tools, remote.images, remote.context_window) == (True, False, 128_000)
    assert (own.tools, own.context_window, own.broken_retries) == (True, None, 1)


def test_families_are_known_under_the_names_servers_use() -> None:
    """Dated ids, upper case and publishers' prefixes find their family."""
    assert catalog.capabilities("anthropic", "claude-opus-4-5-20251101").context_window == 200_000
    assert catalog.capabilities("lab", "Qwen/Qwen2.5-VL-7B-Instruct").images
    assert catalog.capabilities("lab", "openai/gpt-oss-120b").thinking
    assert not catalog.capabilities("lab", "claude-opus-5-5").cache


@pytest.mark.parametrize(
    ("spelled", "own"),
    [
        ("anthropic--claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("anthropic--claude-4-opus", "claude-opus-4"),
        ("anthropic--claude-3.7-sonnet", "claude-3-7-sonnet"),
        ("anthropic--claude-3-haiku", "claude-3-haiku"),
    ],
)
def test_sap_spells_the_same_models_in_another_way(spelled: str, own: str) -> None:
    """The family is the vendor's model's; the vendor itself serves nothing under that name."""
    assert catalog.family(spelled) is catalog.family(own) is not None
    assert catalog.provider_of(spelled) is None
