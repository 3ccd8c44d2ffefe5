"""What SHARP is compared with: other shedding policies, and partial matches that copy their rows."""
