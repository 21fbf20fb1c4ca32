"""Adapters that come with the harness; the queues themselves are optional extras."""
