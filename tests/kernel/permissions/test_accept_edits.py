"""What acceptEdits runs besides the editing tools, tried on real folders with hostile links."""

from pathlib import Path

import pytest

from maia_kernel.permissions import Policy, Subject, decide

RUNS = [
    "mkdir -p a/b c", "touch a.txt", "rm a.txt", "rm -rf build", "rmdir empty", "mv a.txt b.txt",
    "mv a.txt sub/", "cp a.txt b.txt", "cp a.txt sub", "cp -r sub copy", "sed -i s/a/b/ a.txt",
    "sed -i.bak -e 3d a.txt", "timeout 5 rm a.txt", "LANG=C rm a.txt", "mkdir x && touch x/y && ls x",
    "cd sub && touch c.txt", "rm a.txt 2>/dev/null", "rm 'a b.txt'", "cat a.txt; rm a.txt", "rm -- -x",
    "cd sub && mv c.txt d.txt",
]  # fmt: skip
ASKS = [
    # out of the folders, in every spelling
    "rm ../x", "touch /etc/x", "cp a.txt ..", "mv a.txt ~/x", "cp ../x .", "mkdir $HOME/x", "rm sub/../../x",
    "touch out/x", "cp a.txt out", "mv a.txt out/", "rm out/x", "rm -rf out/", "mv out/x .", "cp out/x .",
    "cp a.txt sub/out", "sed -i s/a/b/ out/x", "rm out/back",
    # through a link that has the copied file's name
    "cp leads sub", "cp sub/leads .", "mv leads sub",
    # protected places and critical removals
    "rm -rf .git", "touch .git/hooks/x", "cp a.txt .git/config", "cp sub/.envrc .", "mv sub/.bashrc .",
    "rm -rf .", "rm -rf *", "rm -rf /", "mkdir .vscode", "touch .mcp.json", "cp -r tmpl .maia",
    # what is not known before it runs
    "rm $x", "rm a*", "rm $(ls)", "for f in a b; do rm $f; done", "rm `ls`", "x=a; rm $x",
    # flags and programs that are not on the list
    "cp -t out a.txt", "cp --target-directory=out a.txt", "mv -t sub a.txt", "cp -b a.txt b.txt",
    "cp -S /x a.txt b.txt", "touch -r out/x a.txt", "sed -i e a.txt", "sed -i 's/a/b/e' a.txt",
    "sed -i 's/a/b/w out/x' a.txt", "sed -i 'w out/x' a.txt", "sed -f s a.txt", "sed -i/etc/x s/a/b/ a.txt",
    "sed -i'*/x' s/a/b/ a.txt", "chmod +x a.txt", "ln -s /etc x", "dd if=a.txt of=b.txt", "tee x",
    "rmdir -p a/b", "/bin/rm a.txt", "./rm a.txt", "sudo rm a.txt", "env rm a.txt", "xargs rm",
    # other constructs
    "rm a.txt &", "rm a.txt > b.txt", "rm() { ls; }; rm a.txt", "PATH=. rm a.txt", "alias rm=ls; rm a.txt",
    "cat .env; rm a.txt", "cp .env a.txt", "eval rm a.txt", "bash -c 'rm a.txt'", "npm test; rm a.txt",
    # copied into what is there: through its links
    "cp -r sub sub2", "cp -a sub .", "cp -r 'sub' 'x[1]'", "cp -R sub/. copy",
    # a moved link leads elsewhere: nothing after it was judged rightly
    "mv sub/rel . && touch rel", "mv sub/rel . ; cp a.txt rel", "cp -a sub/rel rel && cat rel",
    "mv sub/rel . && mv a.txt rel", "while true; do cp a.txt rel; mv sub/rel .; done",
]  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working folder with ordinary files, and links that lead out of it."""
    work = tmp_path / "work"
    for folder in ("sub", "sub2", "empty", "build", ".git/hooks", "tmpl", "x[1]"):
        (work / folder).mkdir(parents=True)
    for file in ("a.txt", "a b.txt", "sub/c.txt", "leads", "sub/.envrc", "sub/.bashrc"):
        (work / file).write_text("x\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "x").write_text("x\n")
    (out / "back").symlink_to(work / "a.txt")
    (work / "out").symlink_to(out)
    (work / "sub" / "out").symlink_to(out)
    (work / "sub" / "leads").symlink_to(out / "x")
    (work / "sub" / "rel").symlink_to("../../out/x")
    (work / "sub2" / "c.txt").symlink_to(out / "x")
    return work


def decided(command: str, work: Path, mode: str) -> str:
    """The decision over a command."""
    policy = Policy((), mode, work, work.parent / "home")  # type: ignore[arg-type]
    return decide(Subject("Bash", read_only=False, command=command), policy).behavior


@pytest.mark.parametrize("command", RUNS)
def test_file_commands_inside_run(command: str, work: Path) -> None:
    """Given a file command on paths inside, acceptEdits runs it, default asks, plan refuses."""
    assert decided(command, work, "acceptEdits") == "allow"
    assert decided(command, work, "default") == "ask"
    assert decided(command, work, "plan") == "deny"


@pytest.mark.parametrize("command", ASKS)
def test_everything_else_is_asked(command: str, work: Path) -> None:
    """Given a path that may lie outside, a protected one, or an unknown form, it is asked."""
    assert decided(command, work, "acceptEdits") == "ask"


def test_with_ask_reads_reading_beside_an_edit_is_asked(work: Path) -> None:
    """Given askReads, a command that also reads is asked."""
    policy = Policy((), "acceptEdits", work, work.parent, ask_reads=True)
    subject = Subject("Bash", read_only=False, command="cat a.txt; rm a.txt")
    assert decide(subject, policy).behavior == "ask"
