import hashlib
from pathlib import Path

import pytest

from maia_kernel.errors import LocalModelError, UsageError
from maia_kernel.localmodel.catalogue import known_models
from maia_kernel.localmodel.download import default_model
from maia_kernel.localmodel.environment import child_environment
from maia_kernel.localmodel.launch import context_for
from maia_kernel.localmodel.memory import GIB, free_memory
from maia_kernel.localmodel.store import Installed, Store, models_folder
from tests.support.weights import WEIGHTS, model

BIG, SMALL = model("big"), model("small")


@pytest.fixture
def store(folder: Path) -> Store:
    """A store that knows two models, with nothing downloaded."""
    folder.mkdir()
    return Store(folder, (BIG, SMALL))


def test_every_known_model_is_pinned_and_has_two_sources() -> None:
    """Each row has a whole hash, an https address of its own file, and pinned wheels."""
    models = known_models()

    assert [one.name for one in models] == ["qwen-coder-1.5b", "qwen-coder-0.5b", "smollm2"]
    for one in models:
        assert one.hub is not None
        assert one.hub.startswith("https://")
        assert one.hub.endswith("/" + one.file)
        hashes = [one.sha256, *(part.sha256 for part in one.parts)]
        assert all(len(bytes.fromhex(each)) == hashlib.sha256().digest_size for each in hashes)
        assert len(set(hashes)) == len(hashes) >= 2
        assert all("==" in part.wheel for part in one.parts)
        assert one.licence == "Apache-2.0"


def test_the_default_depends_on_free_memory() -> None:
    """The large model where 6 GiB are free, the next one below."""
    assert default_model(known_models(), 6 * GIB).name == "qwen-coder-1.5b"
    assert default_model(known_models(), 6 * GIB - 1).name == "qwen-coder-0.5b"
    assert free_memory() > 0


def test_the_context_is_smaller_where_memory_is() -> None:
    """8192 tokens with room for twice the weights, 4096 without, never above the trained window."""
    large = Installed(known_models()[0], Path("large.gguf"))

    assert context_for(large, 8 * GIB) == 8192
    assert context_for(large, 2 * GIB) == 4096


def test_the_folder_is_the_variable_s_or_the_cache_s(home: Path) -> None:
    """MAIA_MODEL_DIR wins; without it models are in the person's cache folder."""
    assert models_folder({"MAIA_MODEL_DIR": "~/weights"}) == home / "weights"
    assert models_folder({}).is_relative_to(home)
    assert models_folder({}).parts[-2:] == ("maia", "models")


def test_the_best_downloaded_model_is_the_default(store: Store) -> None:
    """`default` and the empty name mean the first of the table that is there."""
    store.path(SMALL).write_bytes(WEIGHTS)
    assert store.find("default").model.name == "small"

    store.path(BIG).write_bytes(WEIGHTS)
    assert store.find("").model.name == "big"
    assert store.find("small").path == store.path(SMALL)


def test_a_file_of_the_wrong_size_does_not_count(store: Store) -> None:
    """A truncated file is not taken for a model."""
    store.path(BIG).write_bytes(WEIGHTS[:-1])

    assert store.installed() == ()


def test_what_is_missing_is_told_with_the_command_and_the_size(store: Store) -> None:
    """A known model that is not here says how to get it; with none at all, likewise."""
    with pytest.raises(
        LocalModelError, match=r"big is not downloaded \(1 MB\).*maia model get big"
    ):
        store.find("big")
    with pytest.raises(LocalModelError, match="maia model get"):
        store.find("default")
    with pytest.raises(UsageError, match="Known: big, small"):
        store.find("huge")


def test_an_own_file_is_used_where_it_is(store: Store, tmp_path: Path) -> None:
    """A registered file is found by its stem, not copied, and kept when its name is removed."""
    own = tmp_path / "My Model.gguf"
    own.write_bytes(WEIGHTS)

    entry = store.register(own)

    assert entry.model.sha256 == hashlib.sha256(WEIGHTS).hexdigest()
    assert store.find("my-model").path == own
    assert not list(store.folder.glob("*.gguf"))
    store.remove("my-model")
    assert own.exists()
    with pytest.raises(UsageError):
        store.find("my-model")


def test_an_own_file_that_is_gone_is_said_so(store: Store, tmp_path: Path) -> None:
    """A reference to a deleted file names the file."""
    own = tmp_path / "gone.gguf"
    own.write_bytes(WEIGHTS)
    store.register(own)
    own.unlink()

    with pytest.raises(LocalModelError, match=r"gone\.gguf, is gone"):
        store.find("gone")
    assert store.installed() == ()


def test_other_files_are_not_registered(store: Store, tmp_path: Path) -> None:
    """A file of another format, or none, is refused with its name."""
    other = tmp_path / "weights.gguf"
    other.write_bytes(b"PK\x03\x04 something")

    with pytest.raises(UsageError, match="not a GGUF file"):
        store.register(other)
    with pytest.raises(UsageError, match=r"missing\.gguf cannot be read"):
        store.register(tmp_path / "missing.gguf")


def test_removing_deletes_weights_and_unfinished_downloads(store: Store) -> None:
    """Remove frees the file, the part and the kept wheels, and leaves the other model."""
    store.path(SMALL).write_bytes(WEIGHTS)
    store.path(BIG).write_bytes(WEIGHTS)
    kept = store.partial / "big"
    kept.mkdir(parents=True)
    (kept / "one.whl").write_bytes(b"12345")
    (store.partial / "big.gguf.part").write_bytes(b"123")

    assert store.remove("big") == len(WEIGHTS) + 8

    assert [entry.model.name for entry in store.installed()] == ["small"]
    assert not kept.exists()
    with pytest.raises(UsageError):
        store.remove("huge")


def test_children_get_no_keys() -> None:
    """Of the environment a child gets what it needs; pip also its own settings and proxies."""
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "ANTHROPIC_API_KEY": "sk-canary",
        "OPENAI_API_KEY": "sk-canary",
        "PIP_INDEX_URL": "https://packages.example.com/simple",
        "https_proxy": "http://proxy.example.com",
    }

    assert child_environment(environ) == {"PATH": "/bin", "LC_ALL": "C"}
    assert child_environment(environ, network=True) == {
        name: value for name, value in environ.items() if not name.endswith("API_KEY")
    }
