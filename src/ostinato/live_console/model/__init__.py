"""News of the sources -> the state of the page, and its differences."""
