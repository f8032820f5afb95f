"""How the bundled demo session is recorded: real tools, a real SDK, a scripted agent.

Invariant: only the agent's moves are written by hand; what its tools answer is what they found.
"""
