"""The version of fencepost, also in `pyproject.toml` and `Cargo.toml`."""

__version__ = "0.1.0"
