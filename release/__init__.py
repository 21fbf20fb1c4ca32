"""What is released: the licences that go along, and the check of the artefacts in `dist/`."""
