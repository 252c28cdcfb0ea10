"""Is a command read-only, and is it covered by allow rules? When in doubt, neither."""

import re
from collections.abc import Iterator
from pathlib import Path

from maia_kernel.permissions.arguments import Arguments, read_arguments
from maia_kernel.permissions.behind import through
from maia_kernel.permissions.commands import ReadOnly, SubCommands, lists
from maia_kernel.permissions.key_files import is_key_file
from maia_kernel.permissions.policy import Policy
from maia_kernel.permissions.reach import is_folder, names_a_blob, places, revision_paths
from maia_kernel.permissions.reads import read_guarded, reads_are_ruled
from maia_kernel.permissions.rules import Rule, is_exact, matches_command
from maia_kernel.permissions.script import Command, Redirection, Script, is_own_name
from maia_kernel.permissions.words import Word

_SCRIPT_LIMIT = 300
_HARMLESS_TARGETS = ("/dev/null", "/dev/stdout", "/dev/stderr")
_TEST_OPERATORS = ("=", "==", "!=")


def is_read_only(script: Script, policy: Policy) -> bool:
    """True when nothing in the script changes or runs anything, and all it reads is in the folders."""
    if script.doubts or script.lost or script.functions or not script.parses:
        return False
    if script.background:
        # What only reads may still go on without end, with nobody to see it.
        return False
    return all(is_harmless(r, policy) for r in script.redirections) and all(
        reads_only(command, policy) for command in script.commands
    )


def is_harmless(redirection: Redirection, policy: Policy) -> bool:
    """True for input from a readable file in the folders, and for output that goes nowhere."""
    if redirection.write:
        return redirection.target.plain and redirection.target.guess in _HARMLESS_TARGETS
    if redirection.target.plain and redirection.target.guess == "/dev/null":
        return True
    return _in_reach(redirection.target, redirection.folders, policy)


def reads_only(command: Command, policy: Policy | None) -> bool:
    """True for a listed read-only form; with a policy also only when what it reads may be read."""
    if not all(_is_safe_assignment(command, name, word) for name, word in command.assignments):
        return False
    if not command.words:
        return True
    if not command.words[0].plain:
        return False
    inner = through(command)
    if inner is not None and command.name != "nohup":
        return reads_only(inner, policy)
    if command.name == "command":
        return _is_lookup(command)
    found = _form_of(command, policy)
    if found is None:
        return False
    form, words = found
    return _fits(command, form, words, policy)


def is_covered(command: Command, script: Script, rules: tuple[Rule, ...], policy: Policy) -> bool:
    """True when allow rules, or its being read-only, let this simple command run."""
    if any(layer.name in script.functions for layer in _behind(command)):
        # The bodies are judged by themselves; a call inside one could go on for ever, and one that
        # is not certain to be a function's may be a program's.
        safe = all(_is_safe_assignment(command, *pair) for pair in command.assignments)
        return command.calls and safe and not (script.background or script.functions & _reserved())
    unasked = not (policy.ask_reads or script.lost or script.background)
    if unasked and reads_only(command, policy):
        return True
    return is_let(command, rules)


def is_let(command: Command, rules: tuple[Rule, ...]) -> bool:
    """True when one of these allow rules speaks of the simple command and may let it run."""
    if not all(_is_safe_assignment(command, name, word) for name, word in command.assignments):
        return False
    if not command.words or not command.words[0].plain:
        return not command.words
    layers = tuple(_layers(command))
    return any(
        # A wrapper is what it runs: a rule for `timeout` does not let it run whatever follows.
        _lets(rule, layer) and (not _is_wrapper(layer) or is_exact(rule.specifier or "*"))
        for layer in layers
        for rule in rules
    )


def _is_wrapper(command: Command) -> bool:
    wrapper = lists().wrappers.get(command.name)
    return wrapper is not None and wrapper.through


def _lets(rule: Rule, command: Command) -> bool:
    pattern = rule.specifier
    if pattern is None:
        return True
    if command.name in lists().exact and not is_exact(pattern):
        return False
    risky = lists().exact_words.get(command.name, ())
    if risky and not is_exact(pattern) and any(_may_be(word, risky) for word in command.words):
        return False
    return matches_command(pattern, command.raw)


def _may_be(word: Word, names: tuple[str, ...]) -> bool:
    return word.guess in names or not word.literal


def _behind(command: Command) -> Iterator[Command]:
    current: Command | None = command
    while current is not None:
        yield current
        current = through(current)


def _layers(command: Command) -> Iterator[Command]:
    """The command and what stands behind transparent wrappers; none when one may never be let run."""
    layers = list(_behind(command))
    if all(layer.words and layer.words[0].plain and not _is_banned(layer) for layer in layers):
        yield from layers


def _is_banned(command: Command) -> bool:
    if command.name in lists().never:
        return True
    return command.name in lists().builtins and not reads_only(command, None)


def _reserved() -> frozenset[str]:
    known = lists()
    return known.builtins | known.never | frozenset(known.read_only) | frozenset(known.wrappers)


def _is_safe_assignment(command: Command, name: str, value: Word) -> bool:
    if not value.literal:
        return False
    return name in lists().safe_variables or (not command.words and is_own_name(name))


def _is_lookup(command: Command) -> bool:
    words = command.words[1:]
    return (
        len(words) >= 2
        and words[0].guess in ("-v", "-V")
        and all(word.plain and "/" not in word.guess for word in words)
    )


def shows_no_content(command: Command) -> bool:
    """True for a read-only form that gives names or echoes words, but opens no file."""
    if not command.words or not reads_only(command, None):
        return False
    inner = through(command)
    if inner is not None:
        return shows_no_content(inner)
    found = _form_of(command, None)
    return found is not None and (found[0].names or found[0].operands != "paths")


def _form_of(command: Command, policy: Policy | None) -> tuple[ReadOnly, tuple[Word, ...]] | None:
    """The read-only form of a command and the words that it judges."""
    words = command.words[1:]
    sub = lists().sub.get(command.name)
    if sub is not None:
        elsewhere = policy is not None and any(f != policy.cwd for f in command.folders)
        if command.name == "git" and policy is not None and (command.moved or elsewhere):
            # Another folder may be another repository, whose configuration names programs to run.
            return None
        repository = policy.repository(policy.cwd) if policy and command.name == "git" else None
        if repository is not None and repository.risky:
            return None
        while words and words[0].guess in sub.options.takes:
            words = words[1:]
        form, words = _sub_form(sub, words)
        if form is not None and form.nested and repository is not None and repository.nested:
            return None
        if form is not None:
            return form, words
    plain = lists().read_only.get(command.name)
    return None if plain is None else (plain, command.words[1:])


def _sub_form(
    sub: SubCommands, words: tuple[Word, ...]
) -> tuple[ReadOnly | None, tuple[Word, ...]]:
    """The form that the first word, or the first two, pick, and the words after them."""
    for size in (2, 1):
        picked = words[:size]
        if len(picked) == size and all(word.plain for word in picked):
            form = sub.forms.get(" ".join(word.guess for word in picked))
            if form is not None:
                return form, words[size:]
    return None, words


def _fits(command: Command, form: ReadOnly, words: tuple[Word, ...], policy: Policy | None) -> bool:
    if form.test:
        return _fits_test(command, words, policy)
    arguments = read_arguments(words, form.flags, form.syntax)
    if arguments.unknown is not None or len(arguments.flags) < form.at_least_flags:
        return False
    if form.needs and not any(flag in form.needs for flag in arguments.flags):
        return False
    if form.listing and any(flag in form.listing for flag in arguments.flags):
        return all(word.literal for word in arguments.operands)
    operands = _after_script(arguments, form)
    if operands is None or not form.at_least <= len(operands) <= _limit(form):
        return False
    if not all(
        _fits_value(takes, word, command, form, policy) for _, takes, word in arguments.values
    ):
        return False
    if not all(_fits_operand(word, command, form, policy) for word in operands):
        return False
    return policy is None or not _searches_guarded(arguments, form, policy)


def _limit(form: ReadOnly) -> int:
    return 1_000_000 if form.limit is None else form.limit


def _after_script(arguments: Arguments, form: ReadOnly) -> tuple[Word, ...] | None:
    """The operands but for the first where that is a program or a pattern; None when it is unfit."""
    if form.first is None:
        return arguments.operands
    given = [word for flag, _, word in arguments.values if flag in form.script]
    if not given and not any(flag in form.script for flag in arguments.flags):
        if not arguments.operands:
            return None
        given, operands = [arguments.operands[0]], arguments.operands[1:]
    else:
        operands = arguments.operands
    return operands if all(_fits_script(word, form.first) for word in given) else None


def _fits_script(word: Word, pattern: str) -> bool:
    if not word.literal or len(word.guess) > _SCRIPT_LIMIT:
        return False
    return not pattern or re.fullmatch(pattern, word.guess) is not None


def _fits_value(
    takes: str, word: Word, command: Command, form: ReadOnly, policy: Policy | None
) -> bool:
    if takes == "path":
        if ":" in word.guess:
            return False  # `tar -f host:file`
        return policy is None or _in_reach(word, command.folders, policy, names=form.names)
    return word.literal


def _fits_operand(word: Word, command: Command, form: ReadOnly, policy: Policy | None) -> bool:
    match form.operands:
        case "none":
            return False
        case "text":
            return _is_shown(word, command, form, policy)
        case "paths":
            if word.guess.startswith("@") and not (form.refs or form.names):
                return False  # `strings @x` takes its arguments from the file x
            if policy is None:
                return not word.doubt
            if form.files and is_folder(word, command.folders, policy):
                return False  # what lies in it may be a link that leads out
            return _in_reach(word, command.folders, policy, names=form.names, refs=form.refs)
        case pattern:
            return word.literal and re.fullmatch(pattern, word.guess) is not None


def _is_shown(word: Word, command: Command, form: ReadOnly, policy: Policy | None) -> bool:
    if word.literal:
        return True
    if word.glob:
        return policy is None or _in_reach(word, command.folders, policy, names=True)
    shown = lists().shown_variables
    return form.loose and not word.doubt and all(name in shown for name in word.variables)


def _in_reach(
    word: Word,
    folders: tuple[Path, ...],
    policy: Policy,
    *,
    names: bool = False,
    refs: bool = False,
) -> bool:
    """True when a word names only files in the folders that no Read rule guards."""
    if word.literal and word.guess == "-" and not names:
        return True
    found = places(word, folders, policy)
    if found is None:
        return False
    if refs:
        found += tuple(revision_paths(word, folders, policy))
    return all(
        policy.inside(policy.resolve(path))
        and (names or not (read_guarded(path, policy) or is_key_file(path, policy.resolve(path))))
        for path in found
    )


def _searches_guarded(arguments: Arguments, form: ReadOnly, policy: Policy) -> bool:
    """True when everything below a folder is opened while rules guard some files from reading."""
    if not reads_are_ruled(policy):
        return False
    if form.blobs and arguments.operands and all(map(names_a_blob, arguments.operands)):
        return False  # every file is named, and was looked at as an operand
    if isinstance(form.deep, tuple) and any(flag in form.deep for flag in arguments.flags):
        return True
    shallow = any(flag in form.shallow for flag in arguments.flags)
    return form.deep is True or (bool(form.shallow) and not shallow)


def _fits_test(command: Command, words: tuple[Word, ...], policy: Policy | None) -> bool:
    """`[ -f x ]`, `[ a = b ]`: the forms in which no word is evaluated as arithmetic."""
    texts = [word.guess for word in words]
    if texts[:1] == ["!"]:
        words, texts = words[1:], texts[1:]
    if any(word.glob or word.doubt for word in words):
        return False
    if len(words) == 1:
        return words[0].literal
    if len(words) == 2:
        flag, operand = words
        if not flag.plain or flag.guess not in lists().read_only["test"].flags.takes:
            return False
        if policy is None or flag.guess in ("-z", "-n"):
            return True
        return _in_reach(operand, command.folders, policy, names=True)
    return (
        len(words) == 3
        and texts[1] in _TEST_OPERATORS
        and all(word.literal or word.variables for word in words)
    )
