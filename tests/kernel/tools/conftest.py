"""A tool context on a real folder."""

from pathlib import Path

import pytest

from maia_kernel.tools.base import ToolContext
from tests.support.tools import tool_context


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return tool_context(tmp_path.resolve())
