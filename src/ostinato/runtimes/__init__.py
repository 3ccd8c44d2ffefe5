"""Where queries run: `local` in this process, `spark` on a cluster or its local mode."""
