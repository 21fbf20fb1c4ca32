"""What is measured, one module a question; each has TITLE and `run(plan)`."""
