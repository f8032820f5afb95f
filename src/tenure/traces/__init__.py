"""Reads the transcripts that agent tools leave on disk.

Invariant: what is whole is read and what is damaged is named; content never raises but for a file
that is no transcript at all.
"""

from tenure.traces.reading import Meant, Reading, find, look_up, read, read_all

__all__ = ["Meant", "Reading", "find", "look_up", "read", "read_all"]
