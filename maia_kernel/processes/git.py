"""Git for commands that nobody was asked about: nothing runs that a repository itself names."""

from collections.abc import Mapping

# Keys of git-config(1) with which a repository that came from elsewhere would run its own programs.
# Always: nobody means `git add` to run one, nor a folder of files to be taken for a repository.
_ALWAYS = {"core.fsmonitor": "false", "safe.bareRepository": "explicit"}
# Where nobody was asked, because the command only reads: hooks and checks of signatures are kept out
# too. Drivers have names of their own; the judge looks for them (`permissions.repository`).
_FOR_READING = {
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.submodule": "short",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "log.showSignature": "false",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_READS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}


def with_tame_git(environment: Mapping[str, str], *, read_only: bool) -> dict[str, str]:
    """`environment` with what keeps git from running a repository's programs.

    `read_only`: the command only looks and runs unasked, so that hooks, pagers and the like are off
    as well. Drivers of a repository (`diff.NAME.textconv`) are not: `permissions.repository` finds
    them. Settings that `environment` already counts are kept; ours come after them and win.
    """
    values = _ALWAYS | (_FOR_READING if read_only else {})
    counted = environment.get("GIT_CONFIG_COUNT", "")
    first = int(counted) if counted.isascii() and counted.isdigit() and len(counted) < 6 else 0
    tame = {**environment, **(_READS if read_only else {})}
    for number, (key, value) in enumerate(values.items(), first):
        tame[f"GIT_CONFIG_KEY_{number}"] = key
        tame[f"GIT_CONFIG_VALUE_{number}"] = value
    return tame | {"GIT_CONFIG_COUNT": str(first + len(values))}
