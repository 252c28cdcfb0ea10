"""`python -m maia_kernel` is the `maia` program."""

from maia_kernel.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
