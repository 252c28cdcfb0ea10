"""Formats on the wire, without I/O and without a provider."""
