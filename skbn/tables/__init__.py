"""Tables of users read into codes, and codes written back into tables."""
