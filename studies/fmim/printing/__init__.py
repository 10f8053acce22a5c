"""How anything is printed: text as it is, and tables for any terminal."""
