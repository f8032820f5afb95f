"""What a developer's machine runs: set-up, generation of shipped tables, recordings."""
