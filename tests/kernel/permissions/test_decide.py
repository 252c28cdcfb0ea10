"""The order of a decision, the modes, the always-asked lists and the offers."""

from pathlib import Path

import pytest

from maia_kernel.permissions import (
    Behavior,
    Decision,
    Mode,
    PathAccess,
    Policy,
    Rule,
    RuleSource,
    Subject,
    decide,
    parse_rule,
    read_only_command,
)
from maia_kernel.permissions.key_files import is_key_file
from maia_kernel.texts import language


def rules(folder: Path, **lists: list[str]) -> tuple[Rule, ...]:
    """Rules of a user's file: `rules(folder, deny=[...], allow=[...])`."""
    source = RuleSource("user", folder / "settings.json", folder)
    found: list[Rule] = []
    for behavior, texts in lists.items():
        kind: Behavior = behavior  # type: ignore[assignment]
        found += [parse_rule(text, kind, source) for text in texts]
    return tuple(found)


def policy(folder: Path, mode: Mode = "default", **lists: list[str]) -> Policy:
    """A policy for `folder` with these rules."""
    return Policy(rules(folder, **lists), mode, folder, Path.home())


def bash(command: str) -> Subject:
    """A Bash call."""
    return Subject("Bash", read_only=False, command=command)


def read(path: Path, tool: str = "Read") -> Subject:
    """A reading call."""
    return Subject(tool, read_only=True, paths=(PathAccess(path, path.resolve(), write=False),))


def write(path: Path, tool: str = "Write") -> Subject:
    """A writing call."""
    return Subject(tool, read_only=False, paths=(PathAccess(path, path.resolve(), write=True),))


PYTHON = Subject("Python", read_only=False, text="1 + 1")
TODOS = Subject("TodoWrite", read_only=True)


def behaviors(subject: Subject, folder: Path, **lists: list[str]) -> dict[str, str]:
    """What each mode decides."""
    modes: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
    return {mode: decide(subject, policy(folder, mode, **lists)).behavior for mode in modes}


def test_modes_without_rules(tmp_path: Path) -> None:
    """Reading inside runs in every mode; edits, code and commands are as the mode says."""
    every = {"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}
    assert behaviors(read(tmp_path / "a"), tmp_path) == dict.fromkeys(every, "allow")
    assert behaviors(TODOS, tmp_path) == dict.fromkeys(every, "allow")
    assert behaviors(bash("ls"), tmp_path) == dict.fromkeys(every, "allow")
    edit = behaviors(write(tmp_path / "a", "Edit"), tmp_path)
    assert edit == {
        "default": "ask",
        "acceptEdits": "allow",
        "plan": "deny",
        "dontAsk": "deny",
        "bypassPermissions": "allow",
    }
    code = behaviors(PYTHON, tmp_path)
    assert code == edit | {"acceptEdits": "ask"}
    assert behaviors(bash("npm test"), tmp_path) == code


def test_reading_outside_is_asked(tmp_path: Path) -> None:
    """Reading or editing outside the folders is asked, also through a link that leads out."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to(tmp_path / "other")
    assert decide(read(tmp_path / "x"), policy(work)).behavior == "ask"
    assert decide(read(work / "link" / "x"), policy(work)).behavior == "ask"
    assert decide(write(work / "link" / "x"), policy(work, "acceptEdits")).behavior == "ask"
    opened = Policy((), "default", work, Path.home(), additional=(tmp_path / "other",))
    assert decide(read(work / "link" / "x"), opened).behavior == "allow"


def test_deny_beats_ask_beats_allow(tmp_path: Path) -> None:
    """The strictest rule wins, wherever it stands and however general it is."""
    lists = {"allow": ["Bash(npm test:*)"], "ask": ["Bash(npm:*)"], "deny": ["Bash"]}
    assert decide(bash("npm test"), policy(tmp_path, **lists)).behavior == "deny"
    del lists["deny"]
    assert decide(bash("npm test"), policy(tmp_path, **lists)).behavior == "ask"
    assert set(behaviors(bash("npm test"), tmp_path, **lists).values()) == {"ask", "deny"}
    del lists["ask"]
    decision = decide(bash("npm test"), policy(tmp_path, **lists))
    assert decision.behavior == "allow"
    assert "Bash(npm test:*)" in decision.reason
    assert decision.rule is not None


def test_plan_forbids_what_rules_allow(tmp_path: Path) -> None:
    """Plan mode only reads, whatever is allowed."""
    lists = {"allow": ["Bash", "Edit", "Python"]}
    for subject in (bash("npm test"), write(tmp_path / "a"), PYTHON):
        assert decide(subject, policy(tmp_path, "plan", **lists)).behavior == "deny"


def test_dont_ask_runs_what_is_allowed(tmp_path: Path) -> None:
    """In dontAsk an allow rule counts and an ask rule denies."""
    assert (
        decide(bash("npm test"), policy(tmp_path, "dontAsk", allow=["Bash(npm test)"])).behavior
        == "allow"
    )
    assert decide(bash("ls"), policy(tmp_path, "dontAsk", ask=["Bash(ls:*)"])).behavior == "deny"


DENY_SEES_BEHIND_EVERYTHING = [
        "rm x", "sudo rm x", "sudo -u me rm x", "/bin/rm x", r"r\m x", "'rm' x", "$'\\x72m' x",
        "${x:-rm} y", "x=rm; $x y", "env A=1 rm x", "env -i rm x", "env -S 'rm x'", "xargs rm",
        "xargs -0 -n 1 rm", "ls | xargs -I{} rm {}", "nohup rm x", "timeout 5 rm x", "timeout -k 1 5 rm x",
        "nice -n 5 rm x", "time rm x", "command rm x", "builtin rm x", "bash -c 'rm x'",
        "bash -lc 'ls; rm x'", "sudo bash -c 'sh -c \"rm x\"'", "eval rm x", "eval 'rm x'", "exec rm x",
        "echo $(rm x)", "echo `rm x`", "cat <(rm x)", "echo \"$(rm x)\"", "ls && rm x", "(rm x)",
        "if ls; then rm x; fi", "for i in a; do rm $i; done", "f() { rm x; }; f", "find . -exec rm {} \\;",
        "find . -name a -execdir rm {} +", "A=1 rm x", "stdbuf -oL rm x", "watch 'rm x'", "setsid rm x",
        "busybox rm x", "cat <<EOF\n$(rm x)\nEOF", "cat <<-EOF\n\t$(rm x)\n\tEOF", "rm x >", "ls; rm x; (",
        "x='rm y'; $x", "coproc rm x", "! rm x", "ls | while read f; do rm $f; done", "echo ${x:-$(rm y)}",
        "flock l rm x", "doas rm x", "sudo --user me rm x", "sudo --unknown v rm x", "case x in *) rm x;; esac",
    ]  # fmt: skip


def test_deny_sees_behind_everything(tmp_path: Path) -> None:
    """A deny rule for rm matches wherever the command hides."""
    for command in DENY_SEES_BEHIND_EVERYTHING:
        denying = policy(tmp_path, "bypassPermissions", deny=["Bash(rm:*)"], allow=["Bash"])
        assert decide(bash(command), denying).behavior == "deny", command
        asking = policy(tmp_path, "bypassPermissions", ask=["Bash(rm *)"], allow=["Bash"])
        assert decide(bash(command), asking).behavior == "ask", command


@pytest.mark.parametrize(
    "command", ["ls", "echo rm x", "git rm x", "cat rm", "grep rm x", "rmdir x"]
)
def test_deny_is_about_the_command(command: str, tmp_path: Path) -> None:
    """A deny rule for rm does not match a word that is no command."""
    assert decide(bash(command), policy(tmp_path, deny=["Bash(rm:*)"])).behavior != "deny"


def test_compound_commands_need_every_part(tmp_path: Path) -> None:
    """An allow rule covers a compound command only with all its parts, and sees through few wrappers."""
    lists = {"allow": ["Bash(npm test:*)", "Bash(make lint)"]}
    covered = [
        "npm test && make lint",
        "npm test | head -5",
        "timeout 60 npm test -- -x",
        "(npm test)",
    ]
    covered += [
        "for i in 1 2; do npm test $i; done",
        "if npm test; then make lint; fi",
        "time npm test",
    ]
    covered += [
        "NODE_ENV=test npm test",
        "f() { npm test; }; f",
        "npm test 2>&1",
        "npm test > /dev/null",
    ]
    covered += ["npm test \\\n  --watch", "npm test; echo done", "npm test &"]
    for command in covered:
        assert decide(bash(command), policy(tmp_path, **lists)).behavior == "allow", command
    missing = [
        "npm test && make",
        "npm test | sh",
        "env npm test",
        "xargs npm test",
        "npm test > out",
    ]
    missing += [
        "npm test $(ls)",
        "npm tests",
        "PATH=. npm test",
        "sudo npm test",
        "npm test <<EOF\nx\nEOF",
    ]
    missing += ["make lint x", "nohup -x npm test", "npm test | tee out", "bash -c 'npm test'"]
    missing += ["watch npm test", "npm test >& out", "npm  test' 'x | sh"]
    for command in missing[:-4] + missing[-4:]:
        if command == "npm test <<EOF\nx\nEOF":
            continue
        assert decide(bash(command), policy(tmp_path, **lists)).behavior == "ask", command


def test_only_exact_rules_run_risky_programs(tmp_path: Path) -> None:
    """`find -delete` and `watch` need a rule for the very command; a prefix does not do."""
    for prefix, command in (("find", "find sub -delete"), ("watch", "watch ls")):
        assert (
            decide(bash(command), policy(tmp_path, allow=[f"Bash({prefix}:*)"])).behavior == "ask"
        )
        assert (
            decide(bash(command), policy(tmp_path, allow=[f"Bash({command})"])).behavior == "allow"
        )


def test_a_bare_bash_rule_covers_what_parses(tmp_path: Path) -> None:
    """`Bash` alone allows any command that can be read, never one that cannot."""
    wide = policy(tmp_path, allow=["Bash"])
    assert decide(bash("make > out; x=$(date)"), wide).behavior == "allow"
    for command in ("make (", "make\rx", "make 'x"):
        assert decide(bash(command), wide).behavior == "ask", command


PROTECTED_PATHS_ARE_ALWAYS_ASKED = [
        ".git/hooks/pre-commit", ".git/config", ".maia/settings.json", ".maia/tools/x/TOOL.json",
        ".maia/.sessions/a.jsonl", ".maia/.sessions/a.files/0123",
        ".claude/settings.json", ".vscode/tasks.json", ".github/workflows/ci.yml", ".bashrc", ".envrc",
        ".npmrc", ".pre-commit-config.yaml", ".mcp.json", "sub/.git/config", ".GIT/config",
        ".ipython/profile_default/startup/a.py", ".jupyter/jupyter_server_config.py",
        "jupyter_lab_config.py", "ipython_kernel_config.py", ".local/share/jupyter/kernels/x/kernel.json",
        ".config/git/config", "lefthook.yml", ".ssh/authorized_keys",
    ]  # fmt: skip


def test_protected_paths_are_always_asked(tmp_path: Path) -> None:
    """Given every allow there is, writing a protected path is asked; reading it is not."""
    for name in PROTECTED_PATHS_ARE_ALWAYS_ASKED:
        for mode in ("acceptEdits", "bypassPermissions"):
            wide = policy(tmp_path, mode, allow=["Edit", "Write", "Bash"])  # type: ignore[arg-type]
            for subject in (
                write(tmp_path / name),
                write(tmp_path / name, "Edit"),
                bash(f"echo x >> {name}"),
                bash(f"cp a {name}"),
                bash(f"tee {name}"),
                bash(f"sed -i s/a/b/ ./{name}"),
                bash(f"dd of={name}"),
            ):
                assert decide(subject, wide).behavior == "ask", subject
        unasked = "ask" if is_key_file(tmp_path / name) else "allow"
        assert decide(read(tmp_path / name), policy(tmp_path)).behavior == unasked
        assert decide(bash(f"cat {name}"), policy(tmp_path)).behavior == unasked


@pytest.mark.parametrize(
    "name",
    [".maia/tasks/a.md", ".maia/worktrees/x/src/a.py", ".claude/worktrees/x/a", "git/x"],
)
def test_working_folders_of_the_agent_are_not_protected(name: str, tmp_path: Path) -> None:
    """Tasks and worktrees may be written where edits are accepted."""
    assert decide(write(tmp_path / name), policy(tmp_path, "acceptEdits")).behavior == "allow"
    nested = tmp_path / name / ".git" / "config"
    assert decide(write(nested), policy(tmp_path, "acceptEdits")).behavior == "ask"


def test_a_link_to_a_protected_path_is_asked(tmp_path: Path) -> None:
    """Given a link with a harmless name into .git, writing through it is asked."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "plain").symlink_to(tmp_path / ".git")
    assert (
        decide(write(tmp_path / "plain" / "config"), policy(tmp_path, "acceptEdits")).behavior
        == "ask"
    )


CRITICAL_REMOVALS_ARE_ALWAYS_ASKED = [
        "rm -rf /", "rm -rf /*", "rm -rf /etc", "rm -rf ~", "rm -rf ~/", "rm -rf $HOME", 'rm -rf "$HOME"/',
        "rm -rf .", "rm -rf ./", "rm -rf ..", "rm -rf ../..", "rm -rf *", "rm -rf ./*", "rm -rf .*",
        'rm -rf "$D"/*', "rm -rf $D/", "rm -rf ${D}/*", "rm -rf $PWD", "rm -rf ~/*", "rmdir /tmp",
        "sudo rm -rf /", "bash -c 'rm -rf /'", "echo $(rm -rf /)", "cat <(rm -rf ~)", "x=/; rm -rf $x",
        "find . -delete", "find / -name a -delete", "find ~ -delete", "find -delete", "find . -exec rm {} +",
        "git clean -fdx", "git clean -fd .", "git -C / clean -fd", "cd / && rm -rf etc", "cd .. && rm -rf *",
        "rm -rf sub/..", "rm -rf //", "rm -rf /./etc", r"r\m -rf /", "xargs rm -rf /", "rm -rf -- /",
        "timeout 5 rm -rf /", "rm -rf '/'", "rm -rf / (",
    ]  # fmt: skip


def test_critical_removals_are_always_asked(tmp_path: Path) -> None:
    """Given every allow there is, a removal of the folders that matter is asked."""
    for command in CRITICAL_REMOVALS_ARE_ALWAYS_ASKED:
        wide = policy(
            tmp_path, "bypassPermissions", allow=["Bash", "Bash(rm:*)", f"Bash({command})"]
        )
        assert decide(bash(command), wide).behavior == "ask", command


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm a.txt",
        "rm -rf sub/*",
        "find sub -delete",
        "git clean -n",
        "rm *.pyc",
        "git clean -fd sub",
    ],
)
def test_ordinary_removals_follow_rules(command: str, tmp_path: Path) -> None:
    """A removal inside the working folder may be allowed by a rule."""
    assert decide(bash(command), policy(tmp_path, allow=["Bash"])).behavior == "allow"


def test_read_denies_hold_for_every_reader(tmp_path: Path) -> None:
    """A Read deny keeps a file from Read, Grep, Edit, Write and from commands that name it."""
    for name in (".env", "sub/.env"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        denied = [
            read(path),
            read(path, "Grep"),
            write(path),
            write(path, "Edit"),
            bash(f"cat {name}"),
        ]
        denied += [bash(f"head -1 ./{name}"), bash(f"cat < {name}"), bash(f"python {name}")]
        denied += [
            bash(f"git show HEAD:{name}"),
            bash(f"dd if={name}"),
            bash(f"cat {path}"),
            bash("cat .e*"),
        ]
        for subject in denied[:-1] + denied[-1:] * (name == ".env"):
            decision = decide(subject, policy(tmp_path, "bypassPermissions", deny=["Read(.env)"]))
            assert decision.behavior == "deny", subject
    careful = policy(tmp_path, deny=["Read(.env)"])
    assert decide(bash("ls .env"), careful).behavior == "allow"
    assert decide(bash("cat other"), careful).behavior == "allow"
    assert decide(bash("grep -r x ."), careful).behavior == "ask"


def test_edit_rules_cover_every_writer(tmp_path: Path) -> None:
    """`Edit(p)` counts for Write and redirections, `Write(p)` for Write alone; Edit implies reading."""
    path = tmp_path / "src" / "a.py"
    assert decide(write(path), policy(tmp_path, allow=["Edit(src/**)"])).behavior == "allow"
    assert decide(write(path, "Edit"), policy(tmp_path, allow=["Edit(src/**)"])).behavior == "allow"
    assert decide(write(path, "Edit"), policy(tmp_path, allow=["Write(src/**)"])).behavior == "ask"
    assert decide(write(path), policy(tmp_path, allow=["Write(src/**)"])).behavior == "allow"
    assert (
        decide(bash("echo x > src/a.py"), policy(tmp_path, deny=["Edit(src/**)"])).behavior
        == "deny"
    )
    assert (
        decide(bash("echo x > src/a.py"), policy(tmp_path, allow=["Edit(src/**)"])).behavior
        == "ask"
    )
    outside = Path("/opt/example/a")
    assert (
        decide(read(outside), policy(tmp_path, allow=["Edit(//opt/example/**)"])).behavior
        == "allow"
    )


def test_links_need_both_paths_allowed(tmp_path: Path) -> None:
    """Allow needs link and target to match; deny fires on either."""
    work = tmp_path / "work"
    (work / "in").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (work / "in" / "link").symlink_to(tmp_path / "out" / "x")
    link = work / "in" / "link"
    assert decide(write(link), policy(work, allow=["Edit(in/**)"])).behavior == "ask"
    both = ["Edit(in/**)", f"Edit(/{tmp_path}/out/**)"]
    assert decide(write(link), policy(work, allow=both)).behavior == "ask"
    assert decide(write(link), policy(work, allow=[f"Edit(/{tmp_path}/**)"])).behavior == "allow"
    assert decide(read(link), policy(work, deny=[f"Read(/{tmp_path}/out/**)"])).behavior == "deny"
    assert decide(read(link), policy(work, deny=["Read(in/link)"])).behavior == "deny"


def test_ask_reads(tmp_path: Path) -> None:
    """With askReads, reading files and read-only commands ask; tools without files do not."""
    asking = Policy((), "default", tmp_path, Path.home(), ask_reads=True)
    assert decide(read(tmp_path / "a"), asking).behavior == "ask"
    assert decide(bash("ls"), asking).behavior == "ask"
    assert decide(TODOS, asking).behavior == "allow"
    allowed = Policy(
        rules(tmp_path, allow=["Bash(make)"]), "default", tmp_path, Path.home(), ask_reads=True
    )
    assert decide(bash("make; ls"), allowed).behavior == "ask"


def test_commands_start_where_the_shell_is(tmp_path: Path) -> None:
    """Relative paths of a command count from the shell's folder, not from the working folder."""
    (tmp_path / "sub").mkdir()
    assert read_only_command("cat x", policy(tmp_path))
    assert read_only_command("cat ../x", policy(tmp_path), folder=tmp_path / "sub")
    assert not read_only_command("cat ../x", policy(tmp_path))
    assert not read_only_command("cat passwd", policy(tmp_path), folder=Path("/etc"))


OFFERS = [
    (bash("npm test -- -x"), ("Bash(npm test:*)",)),
    (bash("npm run build"), ("Bash(npm run build:*)",)),
    (bash("git push origin main"), ("Bash(git push:*)",)),
    (bash("cd sub && git push"), ("Bash(git push:*)",)),
    (bash("git -c a=b push"), ("Bash(git -c a=b push)",)),
    (bash("git config a b"), ("Bash(git config a b)",)),
    (bash("docker run x"), ("Bash(docker run x)",)),
    (bash("pytest -q tests"), ("Bash(pytest -q tests)",)),
    (bash("timeout 5 npm test"), ("Bash(npm test:*)",)),
    (bash("pytest *.py"), (r"Bash(pytest \*.py)",)),
    (bash("git push && npm test; git push -f"), ("Bash(git push:*)", "Bash(npm test:*)")),
    (bash("a; b; c; d; e"), tuple(f"Bash({name})" for name in "abcde")),
    (bash("a; b; c; d; e; f"), ()),
    (bash("git push && eval ls"), ()),
    (bash("ls | pytest"), ("Bash(pytest)",)),
    (bash("echo x > out"), ()),
    (bash("echo $(date)"), ()),
    (bash("ls ("), ()),
    (bash("eval ls"), ()),
    (bash("rm -rf /"), ()),
    (PYTHON, ("Python",)),
]


@pytest.mark.parametrize(("subject", "offers"), OFFERS)
def test_offers(subject: Subject, offers: tuple[str, ...], tmp_path: Path) -> None:
    """The rules offered are narrow, one for each part that needs one and at most five, and none
    where no rule could help; with all of them the call runs, with one missing it asks."""
    decision = decide(subject, policy(tmp_path))
    assert decision.behavior == "ask"
    assert decision.offers == offers
    if offers:
        assert decide(subject, policy(tmp_path, allow=[*offers])).behavior == "allow"
        assert decide(subject, policy(tmp_path, allow=[*offers[1:]])).behavior == "ask"


def test_offers_for_files(tmp_path: Path) -> None:
    """For a file its folder is offered, the file itself right in the working folder."""
    work = tmp_path / "work"
    cases = [
        (write(work / "src" / "a.py"), "Edit(src/**)"),
        (write(work / "a [1].py", "Edit"), r"Edit(./a\ \[1\].py)"),
        (write(work / "a" / "b" / "c"), "Edit(a/b/**)"),
        (read(tmp_path / "other" / "x"), f"Read(/{tmp_path}/other/**)"),
        (read(tmp_path / "other", "Grep"), f"Read(/{tmp_path}/other/**)"),
        (read(Path("/x")), "Read(//x)"),
        (write(work / ".git" / "x"), None),
    ]
    for subject, offer in cases:
        decision = decide(subject, policy(work))
        assert decision.offers == (() if offer is None else (offer,))
        if offer is not None:
            assert decide(subject, policy(work, allow=[offer])).behavior == "allow"


def test_reasons_are_in_the_persons_language(tmp_path: Path) -> None:
    """The reason names the rule and its file, in the current language."""
    denying = policy(tmp_path, deny=["Bash(rm:*)"])

    def reason() -> Decision:
        return decide(bash("rm x"), denying)

    assert reason().reason == "Denied by the rule Bash(rm:*) (settings.json)."
    token = language.set("fr")
    try:
        assert reason().reason == "Refusé par la règle Bash(rm:*) (settings.json)."
    finally:
        language.reset(token)


def test_reading_a_link_that_leads_out_offers_a_rule_that_allows_it(tmp_path: Path) -> None:
    """Given a link in the folder to a file outside, the offered rule is for the file, and works."""
    work = tmp_path / "work"
    (tmp_path / "out").mkdir()
    work.mkdir()
    (work / "link").symlink_to(tmp_path / "out" / "x")
    decision = decide(read(work / "link"), policy(work))
    assert decision.behavior == "ask"
    assert str(tmp_path / "out" / "x") in decision.reason
    assert decision.offers == (f"Read(/{tmp_path}/out/**)",)
    assert decide(read(work / "link"), policy(work, allow=[*decision.offers])).behavior == "allow"
    elsewhere = policy(work, allow=[f"Read(/{tmp_path}/other/**)", "Read(link)"])
    assert decide(read(work / "link"), elsewhere).behavior == "ask"


def test_the_place_of_the_hooks(tmp_path: Path) -> None:
    """A hook's allow skips neither deny nor ask rules nor the lists, but comes before the mode; its
    deny holds whatever would only ask."""
    allow, ask, deny = (Decision(kind, "a hook", by="hook") for kind in ("allow", "ask", "deny"))  # type: ignore[arg-type]

    def said(subject: Subject, hook: Decision, mode: Mode = "default", **lists: list[str]) -> str:
        return decide(subject, policy(tmp_path, mode, **lists), hook).behavior

    assert said(bash("npm test"), allow) == "allow"
    assert said(bash("npm test"), allow, deny=["Bash(npm:*)"]) == "deny"
    assert said(bash("npm test"), allow, ask=["Bash(npm:*)"]) == "ask"
    assert said(write(tmp_path / ".git" / "config"), allow) == "ask"
    assert said(bash("rm -rf /"), allow) == "ask"
    assert said(bash("npm test"), allow, "dontAsk") == "allow"
    assert said(bash("npm test"), allow, "plan") == "allow"
    assert said(bash("npm test"), ask, allow=["Bash"]) == "ask"
    assert said(bash("npm test"), ask, "bypassPermissions") == "ask"
    assert said(bash("npm test"), ask, "dontAsk") == "deny"
    assert said(bash("npm test"), deny, "bypassPermissions", allow=["Bash"]) == "deny"
    assert said(bash("npm test"), deny, ask=["Bash"]) == "deny"


def test_a_decision_says_what_made_it(tmp_path: Path) -> None:
    """Rule, list, mode, reading or default: what decided is part of the decision."""
    file = tmp_path / "a"
    assert decide(bash("ls"), policy(tmp_path)).by == "read_only"
    assert decide(bash("x"), policy(tmp_path)).by == "default"
    assert decide(bash("x"), policy(tmp_path, allow=["Bash"])).by == "rule"
    assert decide(bash("x"), policy(tmp_path, "plan")).by == "mode"
    assert decide(write(file, "Edit"), policy(tmp_path, "acceptEdits")).by == "mode"
    assert decide(write(tmp_path / ".git" / "x"), policy(tmp_path)).by == "list"
