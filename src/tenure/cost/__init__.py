"""What a request costs and what the provider's prompt cache holds.

Invariant: nothing here knows the time, the disk or the network; prices come from a table made at
release, time is an argument.
"""
