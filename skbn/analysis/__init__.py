"""What users ask of a table: each function reads it at the door and hands codes down."""
