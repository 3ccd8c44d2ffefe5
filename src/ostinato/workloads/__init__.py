"""Many queries over one input: shared plans, the matcher that runs them, and shedding under a bound."""
