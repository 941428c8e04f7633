"""Drop-in replacements for other libraries. Each module has the name of the library that it replaces."""
