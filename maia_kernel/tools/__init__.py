"""Room: see ARCHITECTURE.md."""
