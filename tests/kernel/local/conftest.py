import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.weights import Hub, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where models are kept in this test."""
    return tmp_path / "models"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A folder of wheels that stands for the package index."""
    return tmp_path / "index"


@pytest.fixture
def environ(folder: Path, index: Path) -> dict[str, str]:
    """An environment in which pip sees the wheels of `index` and nothing else."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return own | {
        "MAIA_MODEL_DIR": str(folder),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": os.devnull,
    }


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub on a loopback port that serves the weights."""
    with serving(Hub()) as running:
        yield running
