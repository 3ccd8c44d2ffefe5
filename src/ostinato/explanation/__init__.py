"""A query and its plan -> the sections of text and the pictures that `ost.explain` shows. No row is read."""
