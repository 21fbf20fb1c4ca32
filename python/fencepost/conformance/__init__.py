"""Conformance vectors: recorded behaviour, run against this store or another port of it."""
