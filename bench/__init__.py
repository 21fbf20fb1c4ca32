"""Measurements of fencepost, beside other queues on SQLite; `python -m bench --help`."""
