"""Wire formats: how each provider API spells messages, requests, replies and streams. No I/O.

Invariant: what is not touched leaves as the very bytes that came in.
"""
