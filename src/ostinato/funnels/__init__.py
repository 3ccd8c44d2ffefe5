"""Funnels: steps in order within a time, for each key. A funnel is translated into one MATCH_RECOGNIZE clause."""
