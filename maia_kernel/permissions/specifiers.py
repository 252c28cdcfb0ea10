"""Specifiers of tools that have neither paths nor a command, and of fields of any call's input."""

from maia_kernel.permissions.domains import matches_domain
from maia_kernel.permissions.rules import Rule, matches_command, matches_text
from maia_kernel.permissions.subject import Subject


def matches_parameter(rule: Rule, subject: Subject) -> bool:
    """True when a field that the model gave has a value that a parameter rule speaks of."""
    wanted = rule.parameter
    return wanted is not None and any(
        name == wanted.field and matches_text(wanted.value, value)
        for name, value in subject.parameters
    )


def matches_own(rule: Rule, subject: Subject) -> bool:
    """True when the specifier speaks of `subject.text`, in the way of its tool."""
    pattern = rule.specifier
    if pattern is None or rule.parameter is not None:
        return False
    match rule.tool:
        case "Skill":
            return _matches_skill(pattern, subject.text, wide=rule.behavior != "allow")
        case "WebFetch":
            return matches_domain(pattern, subject.text)
        case _:
            return matches_text(pattern, subject.text)


def _matches_skill(pattern: str, called: str, *, wide: bool) -> bool:
    """`name` is a skill without arguments (with any, for deny and ask), `name *` with any.

    `prefix:*` is the skill of that name and all of the plugin of that name.
    """
    if matches_command(pattern, called):
        return True
    if pattern.endswith(":*"):
        return called.startswith(pattern[:-1])
    return wide and matches_text(pattern, called.partition(" ")[0])
