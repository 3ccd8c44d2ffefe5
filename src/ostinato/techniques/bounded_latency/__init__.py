"""SHARP: many patterns over one stream with one state and one deadline."""
