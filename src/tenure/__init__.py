"""Tenure decides what stays in an agent's context window, at what price, and shows its reasons."""

__all__: list[str] = []
