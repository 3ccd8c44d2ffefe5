"""Stream summaries: at most n kept events, and the aggregate over all matches in them at any moment (SuSe, 2024)."""
