"""Reads the transcripts that agent tools leave on disk."""
