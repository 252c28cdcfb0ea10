"""What a project or a person adds to the agent: files on disk into values."""
