"""Instruction counts of the hot operations, held to a recorded budget."""
