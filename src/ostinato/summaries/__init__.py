"""Stream summaries (SuSe, 2024): at most n kept events, and the aggregate over all matches in them at any time."""
