"""What `%load_ext maia` costs: time and modules, beside a kernel and a cell without it."""

import tempfile
from pathlib import Path

from benchmarks.kernel import Kernel, kernel
from benchmarks.report import Figure, median

VENDOR_SDKS = ("anthropic", "openai", "httpx2", "mcp", "xllamacpp")

_MODULES = "import sys; print(len(sys.modules))"
_SDKS = f"import sys; print(*[name for name in {VENDOR_SDKS!r} if name in sys.modules])"


def run(*, runs: int) -> list[Figure]:
    """The figures, each a median over `runs` fresh kernels."""
    bare_start, maia_start, bare_cell, load_cell = [], [], [], []
    modules: list[float] = []
    sdks: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            with kernel(Path(folder)) as bare:
                bare_start.append(bare.started)
                bare.run("pass")
                bare_cell.append(median(bare.run("pass").seconds for _ in range(5)))
                before = _modules(bare)
                load_cell.append(bare.run("%load_ext maia").seconds)
                sdks |= set(bare.run(_SDKS).output.split())
                modules.append(_modules(bare) - before)
            with kernel(Path(folder), name="maia") as with_maia:
                maia_start.append(with_maia.started)
    load, cell = median(load_cell) * 1000, median(bare_cell) * 1000
    return [
        Figure("%load_ext maia, beside an empty cell", load, "ms", cell),
        Figure("added by %load_ext maia", load - cell, "ms", goal="< 100 ms"),
        Figure(
            "start of the kernel MAIA, beside a bare one",
            median(maia_start) * 1000,
            "ms",
            median(bare_start) * 1000,
        ),
        Figure("modules it imports", median(modules), ""),
        Figure("vendor SDKs among them", len(sdks), "", goal="0"),
    ]


def _modules(running: Kernel) -> int:
    return int(running.run(_MODULES).output)
