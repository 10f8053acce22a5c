"""Everything is printed by this: text as it is, and tables for any terminal."""
