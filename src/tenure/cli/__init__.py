"""The program `tenure`, and its composition root: one file per command."""
