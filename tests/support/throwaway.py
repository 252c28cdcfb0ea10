"""A throw-away place where bash really does what a command says, and a record of what it did.

The command runs under bubblewrap: no network, no other process, nothing writable but the place.
Every program of /usr/bin is a recorder there, which notes how it was started and then becomes the
real program, or nothing where that would be slow.
"""

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from maia_kernel.processes import with_tame_git

OUTSIDE_SECRET = "secret-of-the-outside"
VARIABLE_SECRET = "secret-of-a-variable"
ENVIRONMENT_SECRET = "secret-of-dot-env"
SECONDS = 5
"""A command that has not ended by then is killed: `tail -f`, `cat` that waits for more."""

_REAL = "/tmp/.real"
_LOG = "/tmp/.log"
# Started only in name: they would wait, ask a network, or take a second to say nothing; or they are
# scripts, which start other programs.
_HOLLOW = """
npm npx node yarn pnpm python python3 pip pip3 make curl wget ssh scp nc sudo doas su sleep less
more man vi vim nano emacs ed ex tree watch apt apt-get docker kubectl pytest ruff mypy cargo go
egrep fgrep zcat which evil reboot shutdown cal top crontab at batch systemd-run dbus-send gdb
""".split()  # noqa: SIM905
_RECORDER = f"""#!{_REAL}/dash
PATH=$PATH:/nowhere
{_REAL}/printf '%s\\0' "$#" "$PWD" "$0" "$@" >>{_LOG}/calls
name=${{0##*/}}
case $name in
{"|".join(_HOLLOW)}) exit 0;;
rg) exec {_REAL}-rg "$@";;
esac
exec {_REAL}/$name "$@"
"""


@dataclass(frozen=True, slots=True)
class Start:
    """A program that was started, with its arguments, in `folder`."""

    words: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class Deed:
    """What a command did: programs started, files of the place changed, what was printed."""

    starts: tuple[Start, ...]
    changed: frozenset[str]
    output: str

    @property
    def names(self) -> frozenset[str]:
        """The programs that were started."""
        return frozenset(start.words[0] for start in self.starts)


@dataclass(slots=True)
class Place:
    """`base` holds `work`, where commands start, `home` and `outside`.

    `copy` is what the next command may spoil; `state` what stands in it, None when it is spoilt.
    """

    base: Path
    state: dict[str, tuple[object, ...]] | None = None

    @property
    def copy(self) -> Path:
        return self.base.parent / "copy"

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def home(self) -> Path:
        return self.base / "home"


@cache
def bubblewrap() -> str | None:
    """The program `bwrap`, when it works here."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    probe = [program, "--unshare-all", "--ro-bind", "/", "/", "true"]
    works = subprocess.run(probe, capture_output=True, check=False, timeout=20).returncode == 0
    return program if works else None


def needs_bubblewrap() -> None:
    """Skip the test where no throw-away place can be made."""
    if bubblewrap() is None:
        pytest.skip("bubblewrap does not work on this machine")


def make_place(base: Path) -> Place:
    """Files and links such as the commands of the corpora speak of, in a repository with a commit."""
    place = Place(base)
    work = place.work
    for folder in (work / "sub", work / "src", place.home / ".ssh", base / "outside"):
        folder.mkdir(parents=True)
    for name in ("a.txt", "b.txt", "x", "in", "a file.txt", "sub/b.txt", "src/app.py", "empty"):
        (work / name).write_text("" if name == "empty" else "x foo 1\ny bar 2\n")
    (work / "a.json").write_text('{"name": "n", "items": [{"name": "i"}]}\n')
    (work / ".env").write_text(f"KEY={ENVIRONMENT_SECRET}\n")
    (work / "link-out").symlink_to("../outside")
    (work / "link-file").symlink_to("../outside/secret")
    for secret in (base / "outside" / "secret", place.home / ".ssh" / "id_rsa", base / "secret"):
        secret.write_text(f"{OUTSIDE_SECRET}\n")
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (
        ["init", "-q", "--template=", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "first"],
    ):
        subprocess.run([*git, *words], check=True, env={**os.environ, "HOME": str(place.home)})

    return place


def do(command: str, place: Place) -> Deed:
    """Run `command` in a copy of `place` that stands where `place` stands."""
    log = place.base.parent / "log"
    log.mkdir(exist_ok=True)
    (log / "calls").unlink(missing_ok=True)
    if place.state is None:
        shutil.rmtree(place.copy, ignore_errors=True)
        shutil.copytree(place.base, place.copy, symlinks=True)
        # Git notes when files were changed, and would note it anew for a copy.
        refresh = ["git", "-C", str(place.copy / "work"), "update-index", "-q", "--refresh"]
        subprocess.run(refresh, check=False, capture_output=True)
        place.state = _tree(place.copy)
    before = place.state
    output = _bash(command, place, log, _recorders(place.base.parent / "recorders"))
    after = _tree(place.copy)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    if changed:
        place.state = None
    return Deed(tuple(_starts(log / "calls")), frozenset(changed), output)


def _bash(command: str, place: Place, log: Path, recorders: Path) -> str:
    rg = Path(sysconfig.get_path("scripts")) / "rg"
    seen = [("/usr/bin", _REAL), (str(rg), f"{_REAL}-rg"), (str(recorders), "/usr/bin")]
    if not Path("/bin").is_symlink():
        seen.append((str(recorders), "/bin"))
    words = [bubblewrap() or "bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for source, target in seen:
        words += ["--ro-bind", source, target]
    words += ["--bind", str(log), _LOG, "--bind", str(place.copy), str(place.base)]
    words += ["--chdir", str(place.work), "--cap-drop", "ALL", "--", f"{_REAL}/bash", "-c", command]
    environment = {
        "HOME": str(place.home), "PATH": "/usr/bin", "PWD": str(place.work), "LANG": "C.UTF-8",
        "SECRET": VARIABLE_SECRET, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat",
    }  # fmt: skip
    try:
        done = subprocess.run(
            words, env=with_tame_git(environment, read_only=True), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return (late.output or b"").decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "replace")


def _recorders(folder: Path) -> Path:
    if not folder.exists():
        folder.mkdir()
        script = folder / ".recorder"
        script.write_text(_RECORDER)
        script.chmod(0o755)
        names = {path.name for path in Path("/usr/bin").iterdir()} | {*_HOLLOW, "rg"}
        for name in names:
            (folder / name).symlink_to(".recorder")
    return folder


def _starts(calls: Path) -> list[Start]:
    fields = calls.read_bytes().decode("utf-8", "replace").split("\0") if calls.exists() else []
    found: list[Start] = []
    while len(fields) > 2:
        count = int(fields[0]) + 3
        name = fields[2].rpartition("/")[2]
        found.append(Start((name, *fields[3:count]), Path(fields[1])))
        fields = fields[count:]
    return found


def _tree(base: Path) -> dict[str, tuple[object, ...]]:
    """Every file below with what a command could have changed of it."""
    found: dict[str, tuple[object, ...]] = {}
    for path in base.rglob("*"):
        facts = path.lstat()
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(base))] = (facts.st_mode, content)
    return found
