"""What no product has: one folder per research system, none importing another."""
