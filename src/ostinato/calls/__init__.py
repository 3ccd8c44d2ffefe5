"""What every public call does: checks its options, turns foreign errors into ours, can be interrupted."""
