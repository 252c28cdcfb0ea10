"""What the person types: `@` references today; each is their own act, so no permission is asked."""

from maia_kernel.prompt_input.attach import AttachedFile, Resolved, resolve
from maia_kernel.prompt_input.references import Reference, find_references

__all__ = ["AttachedFile", "Reference", "Resolved", "find_references", "resolve"]
