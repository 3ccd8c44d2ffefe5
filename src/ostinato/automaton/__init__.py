"""Pattern -> what to look for next: rewrites, then a position automaton with ordered choices. No arrays here."""
