"""Row pattern -> position automaton with ordered choices. No arrays here."""
