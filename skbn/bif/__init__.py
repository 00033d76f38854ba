"""The parts of BIF files."""
