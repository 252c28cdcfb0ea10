"""The distribution as a user gets it: built, installed into an empty environment, used from there.

`MAIA_TEST_PYTHON` names another interpreter for that environment than the one that runs the tests.
"""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from maia_kernel._version import __version__

ROOT = Path(__file__).parent.parent
FOLDERS_THAT_ARE_NO_PACKAGES = ("tests", "magics", "widgets", "benchmarks", "notebooks", "scripts")

_LEAKS = f"""
import importlib.util
names = {FOLDERS_THAT_ARE_NO_PACKAGES!r}
found = {{name: importlib.util.find_spec(name) for name in names}}
places = {{name: list(spec.submodule_search_locations or ()) for name, spec in found.items() if spec}}
print([name for name, where in places.items() if any(path.startswith({str(ROOT)!r}) for path in where)])
"""

_USE_THE_KERNEL = """
from jupyter_client.manager import KernelManager

manager = KernelManager(kernel_name="maia")
manager.start_kernel()
client = manager.client()
client.start_channels()
try:
    client.wait_for_ready(timeout=60)
    reply = client.execute_interactive("%%maia --model scripted:hello.yaml\\nHello?", timeout=60)
    print("status:", reply["content"]["status"])
    client.execute_interactive("import maia_kernel; print('from', maia_kernel.__file__)", timeout=60)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def _run(*command: str | Path, cwd: Path, **environ: str) -> str:
    result = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the repository in an environment of its own."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel and what it needs, nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    if python := os.environ.get("MAIA_TEST_PYTHON"):
        _run(python, "-m", "venv", "--without-pip", folder, cwd=folder)
    else:
        venv.create(folder, symlinks=True, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    _run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=folder)
    return folder / "bin"


@pytest.fixture
def scripted(tmp_path: Path) -> Path:
    """A working folder with a script that answers one prompt."""
    (tmp_path / "hello.yaml").write_text("entries:\n  - expect: Hello?\n    reply: Good day.\n")
    return tmp_path


def test_the_wheel_holds_three_packages_with_their_data_and_the_kernelspec(wheel: Path) -> None:
    """Code, catalogues, prompts, panel and kernelspec are in; tests and notebooks are not."""
    names = zipfile.ZipFile(wheel).namelist()
    data = f"maia_kernel-{__version__}.data/data/share/jupyter/kernels/maia"
    assert {
        "maia_kernel/agent.py",
        "maia_kernel/texts/fr/turn.toml",
        "maia_kernel/context/prompts/system.md",
        "maia_kernel/py.typed",
        "maia_widgets/static/panel.js",
        "maia_widgets/static/cards.js",
        "maia/__init__.py",
        f"{data}/kernel.json",
    } <= set(names)
    tops = {name.split("/")[0] for name in names}
    info = f"maia_kernel-{__version__}"
    assert tops == {"maia", "maia_kernel", "maia_widgets", f"{info}.data", f"{info}.dist-info"}


def test_the_editable_install_makes_no_folder_of_the_repository_importable(tmp_path: Path) -> None:
    """What works in the working copy works for users: `import tests` is possible for neither."""
    assert _run(sys.executable, "-c", _LEAKS, cwd=tmp_path).strip() == "[]"


@pytest.mark.peer
@pytest.mark.timeout(600)
def test_the_wheel_is_used_from_an_empty_environment(installed: Path, scripted: Path) -> None:
    """`%load_ext maia` in IPython, the program, and the kernelspec work from the installed wheel."""
    where = str(scripted / "home")

    loaded = _run(installed / "ipython", "-c", "%load_ext maia", cwd=scripted, HOME=where)
    assert __version__ in loaded

    program = installed / "maia"
    assert _run(program, "--version", cwd=scripted, HOME=where) == f"maia {__version__}\n"
    said = _run(program, "-p", "Hello?", "--model", "scripted:hello.yaml", cwd=scripted, HOME=where)
    assert said.strip() == "Good day."

    listed = json.loads(
        _run(installed / "jupyter", "kernelspec", "list", "--json", cwd=scripted, HOME=where)
    )
    kernelspec = listed["kernelspecs"]["maia"]
    assert kernelspec["spec"]["display_name"] == "MAIA (Python 3)"
    assert Path(kernelspec["resource_dir"]).is_relative_to(installed.parent)

    used = _run(installed / "python", "-c", _USE_THE_KERNEL, cwd=scripted, HOME=where)
    assert "Good day." in used
    assert "status: ok" in used
    assert f"from {installed.parent}" in used

    assert _run(installed / "python", "-c", _LEAKS, cwd=scripted).strip() == "[]"
