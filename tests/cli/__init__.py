"""The program `tenure`, run as a user runs it."""
