"""Starts the kernel "MAIA (Python 3)": `python -P -m maia.launcher -f FILE`.

With `-P` nothing of the working folder is on `sys.path`: `maia` and the kernel are imported as
installed, though the folder may hold a `maia.py`, and all else that MAIA needs by `installed`. Then the folder is put where IPython
puts it, after the standard library and before installed packages, for the person's own code.
"""

import os
import sys

from ipykernel import kernelapp

from maia import installed


def main() -> None:
    """Run the kernel until it ends."""
    installed.install()
    places = enumerate(map(os.path.basename, sys.path))
    at = next((at for at, name in places if name in ("site-packages", "dist-packages")), 0)
    sys.path.insert(at, "")
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    main()
