"""The rooms of ARCHITECTURE.md import in one direction; import-linter holds it."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
VENDOR_SDKS = ("anthropic", "openai", "httpx2", "xllamacpp", "mcp")
HEAVY = ("pydantic", "nbformat", "ipywidgets", "anywidget", "tree_sitter", "genai_prices")

_LOADED = """
import sys
before = set(sys.modules)
import {package}
print(*sorted({{name.split(".")[0] for name in set(sys.modules) - before}}))
"""


def _lint(config: Path) -> subprocess.CompletedProcess[str]:
    program = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as run; run()",
    ]
    return subprocess.run(
        [*program, str(config), "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_of_the_layers_is_kept() -> None:
    """lint-imports finds no import that goes upwards."""
    result = _lint(ROOT / "pyproject.toml")
    assert result.returncode == 0, result.stdout
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert f"{len(contracts['contracts'])} kept, 0 broken" in result.stdout


def test_an_import_that_goes_upwards_is_found(tmp_path: Path) -> None:
    """With the order turned round, the same check fails: it does look at the imports."""
    config = tmp_path / "upside_down.toml"
    config.write_text(
        "[tool.importlinter]\n"
        'root_packages = ["maia_kernel"]\n'
        "[[tool.importlinter.contracts]]\n"
        'name = "upside down"\n'
        'type = "layers"\n'
        'layers = ["maia_kernel.errors", "maia_kernel.agent"]\n'
    )
    result = _lint(config)
    assert result.returncode == 1
    assert "upside down BROKEN" in result.stdout


def test_importing_the_extension_loads_no_vendor_sdk_and_nothing_heavy() -> None:
    """`import maia` costs little: what is heavy waits for the first prompt."""
    result = subprocess.run(
        [sys.executable, "-c", _LOADED.format(package="maia")],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = result.stdout.split()
    assert "maia" in loaded
    assert not set(loaded) & {*VENDOR_SDKS, *HEAVY}
