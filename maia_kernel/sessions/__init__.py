"""Sessions: the conversation of one working folder, and its append-only journal."""

from maia_kernel.sessions.journal import SCHEMA, Journal
from maia_kernel.sessions.session import Session, default_name

__all__ = ["SCHEMA", "Journal", "Session", "default_name"]
