# shellcheck shell=bash
# Sourced by the scripts beside it, from the root of the repository: the development environment.

say() { printf '%s\n' "$*" >&2; }

# The Python that runs everything: $PYTHON, or the first of the usual names that is 3.11 or later.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  say "No Python 3.11 or later with venv was found. Install one, or name it: PYTHON=/path/to/python3 $0"
  return 1
}

# Make or refresh .venv with the package in editable form and all extras. Nothing is done when the
# files that decide what is installed are the ones it was made from.
make_environment() {
  local python stamp
  stamp=$(find pyproject.toml jupyter-config -type f -print0 | sort -z | xargs -0 cat | cksum)
  if [ "$(cat .venv/installed 2>/dev/null)" = "$stamp" ]; then return; fi
  if [ ! -x .venv/bin/python ]; then
    python=$(find_python)
    "$python" -m venv .venv
  fi
  say "Installing MAIA and what its tests need into .venv ..."
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[local,dev]'
  printf '%s\n' "$stamp" > .venv/installed
}

# Install packages of Debian, if we may.
install_packages() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return 1; fi
  say "Installing $* ..."
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } \
    </dev/null >&2
}

# True when there is bubblewrap, the sandbox of commands on Linux.
find_bubblewrap() {
  if command -v bwrap >/dev/null; then return; fi
  install_packages bubblewrap && command -v bwrap >/dev/null
}

# True when there is a chromium, installed through apt if we may.
find_browser() {
  if command -v chromium >/dev/null; then return; fi
  install_packages chromium fonts-dejavu-core && command -v chromium >/dev/null
}
