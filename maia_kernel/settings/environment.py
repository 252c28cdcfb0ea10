"""Environment variables into the heap. Only names that MAIA documents are looked at."""

from collections.abc import Mapping

from maia_kernel.settings import kinds, schema
from maia_kernel.settings.collect import ENVIRONMENT, LAST, Collected
from maia_kernel.texts import text

_FAMILIES = ("opus", "sonnet", "haiku")


def read_environment(into: Collected) -> None:
    """Take what the environment says, the settings' own `env` above the real one, `.env` below."""
    environ = {**into.dotenv, **into.environ, **into.env}
    for variable, name, kind in schema.ENVIRONMENT:
        value = environ.get(variable)
        if not value:
            continue
        if name == "mode" and value == "bypassPermissions":
            into.warn(text("settings.bypass_flag", source=variable))
            continue
        if name == "mode" and value == "auto" and into.environ.get(variable) != value:
            # Of the settings' `env`, which may be a project's.
            into.warn(text("settings.auto_project", source=variable))
            continue
        into.check(name, value, kind, rank=ENVIRONMENT, origin=variable, key=variable)
    _read_anthropic(environ, into)
    _read_locale(into.environ, into)


def is_on(environ: Mapping[str, str], *names: str) -> bool:
    """True when the first of `names` that is set means yes; anything unclear means no."""
    for name in names:
        if environ.get(name):
            try:
                return kinds.flag(environ[name])
            except ValueError:
                return False
    return False


def _read_anthropic(environ: Mapping[str, str], into: Collected) -> None:
    """The public names of Claude Code: a model without a provider is Anthropic's."""
    models = {
        family: environ[f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL"]
        for family in _FAMILIES
        if environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL")
    }
    if models:
        origin = "ANTHROPIC_DEFAULT_*_MODEL"
        into.put("anthropic.models", models, rank=ENVIRONMENT, origin=origin)
        aliases = {family: anthropic_spec(model, models) for family, model in models.items()}
        into.put("aliases", aliases, rank=ENVIRONMENT, origin=origin)
    for variable, name, rank in (
        ("ANTHROPIC_MODEL", "model", ENVIRONMENT),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "small_model", LAST),
        ("ANTHROPIC_SMALL_FAST_MODEL", "small_model", LAST),
    ):
        if environ.get(variable):
            spec = anthropic_spec(environ[variable], models)
            into.put(name, spec, rank=rank, origin=variable)


def anthropic_spec(model: str, models: Mapping[str, str]) -> str:
    """`model`, an id or an alias as Claude Code takes it, as a spec of ours."""
    named = models.get(model, model)
    if named in _FAMILIES or named.startswith("anthropic:"):
        return named
    return f"anthropic:{named}"


def spoken(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The language that the environment asks for and the variable that says so."""
    for variable in ("MAIA_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(variable):
            try:
                return kinds.language(environ[variable]), variable
            except ValueError:
                return None
    return None


def _read_locale(environ: Mapping[str, str], into: Collected) -> None:
    found = spoken(environ)
    if found is not None:
        into.put("language", found[0], rank=LAST, origin=found[1])
