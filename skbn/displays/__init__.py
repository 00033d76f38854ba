"""Pictures for notebooks, by matplotlib."""
