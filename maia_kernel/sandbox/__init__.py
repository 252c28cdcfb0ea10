"""The OS sandbox: commands with bounds that the kernel keeps, whatever they say about themselves.

Bubblewrap where it works, else Landlock and a system call filter; sandbox-exec on macOS. The rest of
the room is imported where a command is run: reading settings needs only the values.
"""

from maia_kernel.sandbox.values import Bounds, Confined, SandboxSettings

__all__ = ["Bounds", "Confined", "SandboxSettings"]
