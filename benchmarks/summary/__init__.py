"""Stream summaries beside FIFO, random and present benefit only: figures 7 to 13 of the SuSe paper."""
