"""A stress harness that decides from recorded evidence whether a lease queue kept its promises."""
