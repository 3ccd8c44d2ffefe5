"""Rules as the page edits them: tests on a table, pictures, new versions."""
