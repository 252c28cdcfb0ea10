"""A machine in small: a home with keys, a working folder, a process and listeners outside."""

import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

OTHER = 65534  # nobody
SECRET = "SECRET-7c1f"
_PROTECTED = {".vscode", ".idea", "sitecustomize.py", "usercustomize.py", ".git", ".maia", ".envrc"}
_IPC_CREATE, _IPC_REMOVE = 0o1000, 0


def users() -> tuple[str, ...]:
    """Whom the commands run as: root runs both, others only themselves."""
    return ("other", "root") if os.geteuid() == 0 else ("self",)


def place() -> Path:
    """A folder for worlds that the sandbox does not replace as a whole, as it does /tmp."""
    for folder in (Path("/var/lib"), Path("/srv"), Path("~root").expanduser()):
        if os.access(folder, os.W_OK):
            return folder
    own = Path(f"~{pwd.getpwuid(os.getuid()).pw_name}").expanduser()
    candidates = [own, Path.cwd()]
    for folder in candidates:
        if os.access(folder, os.W_OK) and not folder.is_relative_to("/tmp"):
            return folder
    pytest.skip("no folder outside /tmp can be written")


@dataclass
class World:
    """Made anew for every case. `user` is whom its commands run as."""

    base: Path
    user: str
    token: str = field(default_factory=lambda: f"maia-{secrets.token_hex(6)}")
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    segment: int = -1
    victim: "subprocess.Popen[bytes] | None" = None

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def parent(self) -> Path:
        return self.base / "projects"

    @property
    def work(self) -> Path:
        return self.parent / "work"

    @property
    def tmp(self) -> Path:
        return Path("/tmp") / f"{self.token}-theirs"

    @property
    def python(self) -> str:
        # The environment of the tests may lie where only root looks.
        system = Path("/usr/bin/python3")
        return str(system) if self.user == "other" and system.exists() else sys.executable

    @property
    def prefix(self) -> tuple[str, ...]:
        if self.user != "other":
            return ()
        who = str(OTHER)
        return ("setpriv", "--reuid", who, "--regid", who, "--clear-groups", "--")

    @contextlib.contextmanager
    def eyes(self) -> Iterator[None]:
        """What is looked at meanwhile is seen as the user sees it."""
        if self.user == "other":
            os.seteuid(OTHER)
        try:
            yield
        finally:
            if self.user == "other":
                os.seteuid(0)

    @property
    def environment(self) -> dict[str, str]:
        keys = ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD")
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.home),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.home}/sock",
            **dict.fromkeys(keys, SECRET),
        }

    def worded(self, command: str) -> str:
        """`command` with its placeholders filled."""
        assert self.victim is not None
        return command.format(
            home=self.home,
            work=self.work,
            parent=self.parent,
            pid=self.victim.pid,
            port=self.listeners["tcp"].getsockname()[1],
            udp=self.listeners["udp"].getsockname()[1],
            socket=self.home / "sock",
            abstract=self.token,
            segment=self.segment,
            suid=self.base / "suid",
            rootfile=self.base / "rootfile",
            python=self.python,
            token=self.token,
            tmp=self.tmp,
        )

    def violations(self, output: str, before: dict[str, str], tells: str = "") -> list[str]:
        """What a command got done that it must not; `before` is what `seen` gave before it."""
        assert self.victim is not None
        found = []
        if SECRET in output:
            found.append("it printed a secret")
        if tells and tells in output:
            found.append(f"it printed {tells}")
        after = self.seen()
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                found.append(f"{path}: {before.get(path)!r} became {after.get(path)!r}")
        if self.victim.poll() is not None:
            found.append("the process outside was ended")
        found += [f"{name} was reached" for name in self.listeners if self._reached(name)]
        marks = [Path(folder) / self.token for folder in ("/dev/shm", "/tmp", "/var/tmp")]
        found += [f"{mark} was made" for mark in marks if mark.exists()]
        found += [f"process {pid} was left" for pid in self._left()]
        return found

    def seen(self) -> dict[str, str]:
        """What must stay: every file outside, and what is protected in the working folder."""
        seen = {}
        for path in self.base.rglob("*"):
            if path.is_relative_to(self.work) and not self._is_kept(path.relative_to(self.work)):
                continue
            seen[str(path)] = _state(path)
        return seen

    def _is_kept(self, inner: Path) -> bool:
        parts = inner.parts
        if ".git" in parts:
            rest = parts[parts.index(".git") + 1 :]
            return not rest or rest[0] in ("hooks", "config", "commondir")
        return bool(_PROTECTED & set(parts)) or inner.name in ("key.txt", "notes.secret")

    def _reached(self, name: str) -> bool:
        listener = self.listeners[name]
        with contextlib.suppress(BlockingIOError):
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                listener.recv(99)
            return True
        return False

    def _left(self) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes().split(b"\0")
                if line[0] == self.token.encode():
                    found.append(int(folder.name))
                    os.kill(int(folder.name), 9)
        return found


def _state(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    mode = oct(path.stat().st_mode)
    if not path.is_file():
        return mode
    content = path.read_bytes()
    return f"{mode} {content.decode() if len(content) < 200 else hash(content)}"


@contextlib.contextmanager
def world(user: str) -> Iterator[World]:
    """A world for one case; nothing of it is left."""
    base = Path(tempfile.mkdtemp(prefix="maia-world-", dir=place()))
    made = World(base, user)
    try:
        _furnish(made)
        yield made
    finally:
        for listener in made.listeners.values():
            listener.close()
        if made.victim is not None:
            made.victim.kill()
            made.victim.wait()
        if made.segment >= 0:
            ctypes.CDLL(None).shmctl(made.segment, _IPC_REMOVE, None)
        for place_ in (made.tmp, *(Path(f) / made.token for f in ("/dev/shm", "/tmp", "/var/tmp"))):
            place_.unlink(missing_ok=True)
        shutil.rmtree(base, ignore_errors=True)


def _furnish(made: World) -> None:
    base, home, work = made.base, made.home, made.work
    for name in (".ssh/id_test", ".maia/servers.json", ".aws/credentials", ".netrc"):
        _write(home / name, SECRET)
    _write(home / ".local/share/jupyter/runtime/kernel-1.json", SECRET)
    _write(home / "diary.txt", "dear diary")
    _write(work / ".git" / "config", "[core]\n\tbare = false\n")
    _write(work / ".git" / "HEAD", "ref: refs/heads/main\n")
    for name in ("hooks", "objects", "refs"):
        (work / ".git" / name).mkdir()
    _write(work / ".maia" / "settings.json", "{}")
    _write(work / "private" / "key.txt", SECRET)
    _write(work / "deep" / "notes.secret", SECRET)
    _write(work / "sub" / "a.txt", "a")
    _write(base / "envrc", "")
    (work / ".envrc").symlink_to(base / "envrc")
    made.tmp.write_text(SECRET)
    _listen(made)
    if made.user == "other":
        shutil.copy("/bin/cat", base / "suid")
        _write(base / "rootfile", SECRET)
        (base / "rootfile").chmod(0o600)
        (base / "suid").chmod(0o4755)
        for path in (base, made.tmp, *base.rglob("*")):
            if path.name not in ("suid", "rootfile"):
                os.chown(path, OTHER, OTHER, follow_symlinks=False)
        (base / "suid").chmod(0o4755)
    base.chmod(0o755)
    made.segment = _shared_memory()
    made.victim = subprocess.Popen(
        [*made.prefix, "sh", "-c", f"exec 3< {home}/.ssh/id_test; echo; exec sleep 1000"],
        env={**made.environment, "MEMORY": SECRET},
        stdout=subprocess.PIPE,
    )
    assert made.victim.stdout is not None
    made.victim.stdout.readline()
    made.victim.stdout.close()
    end = time.monotonic() + 10
    while b"sleep" not in Path(f"/proc/{made.victim.pid}/cmdline").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.002)


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def _listen(made: World) -> None:
    kinds = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "unix": (socket.AF_UNIX, socket.SOCK_STREAM, str(made.home / "sock")),
        "unix packets": (socket.AF_UNIX, socket.SOCK_DGRAM, str(made.home / "sock-packets")),
        "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{made.token}"),
        "abstract packets": (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{made.token}-packets"),
    }
    for name, (family, kind, address) in kinds.items():
        listener = made.listeners[name] = socket.socket(family, kind)
        listener.bind(address)
        listener.setblocking(False)
        if kind == socket.SOCK_STREAM:
            listener.listen()


def _shared_memory() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = int(libc.shmget(0, 4096, _IPC_CREATE | 0o666))
    at = libc.shmat(segment, None, 0)
    ctypes.memmove(at, SECRET.encode(), len(SECRET))
    libc.shmdt(ctypes.c_void_p(at))
    return segment
