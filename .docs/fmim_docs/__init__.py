"""Makes the pages of the documentation that nobody writes by hand."""
