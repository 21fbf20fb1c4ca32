"""The engines: one protocol, and two implementations of it."""
