"""The ways to find pairs of live and archive matches, what each costs, and which one runs."""
