"""Rules on a stream: queries that arrive, change and leave while the stream runs. No Spark here."""
