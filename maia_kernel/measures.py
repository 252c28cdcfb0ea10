"""Tokens, money and time as short text in the person's language."""

from maia_kernel.texts import text
from maia_kernel.usage import Usage


def usage_parts(usage: Usage) -> list[str]:
    """Tokens in and out, the cached share, and whether they are an estimate."""
    if not (usage.context_tokens or usage.output_tokens):
        return []
    parts = [
        text(
            "plain.footer.tokens",
            input=count(usage.context_tokens),
            output=count(usage.output_tokens),
        )
    ]
    if usage.cache_read_tokens:
        percent = round(100 * usage.cache_read_tokens / usage.context_tokens)
        share = text("plain.units.percent", value=percent)
        parts.append(text("plain.footer.cached", share=share))
    return parts + ([text("plain.footer.estimated")] if usage.estimated else [])


def cost_parts(cost_usd: float | None) -> list[str]:
    """The price in US dollars, if it is known."""
    if cost_usd is None:
        return []
    digits = 2 if cost_usd >= 1 else 4
    return [text("plain.units.money", value=_number(f"{cost_usd:.{digits}f}"))]


def count(tokens: int) -> str:
    """A number of tokens, short: 950, 12.3k, 1.2M."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_500:
        return text("plain.units.thousand", value=_number(f"{tokens / 1000:.3g}"))
    return text("plain.units.million", value=_number(f"{tokens / 1_000_000:.3g}"))


def duration(seconds: float) -> str:
    """A length of time, short: 40 ms, 0.3 s, 12 s, 2 min 5 s."""
    if seconds < 0.1:
        return text("plain.units.milliseconds", value=round(seconds * 1000))
    if seconds < 10:
        return text("plain.units.seconds", value=_number(f"{seconds:.1f}"))
    if seconds < 60:
        return text("plain.units.seconds", value=f"{seconds:.0f}")
    minutes, rest = divmod(round(seconds), 60)
    return text("plain.units.minutes", minutes=minutes, seconds=rest)


def _number(written: str) -> str:
    return written.replace(".", text("plain.units.decimal"))
