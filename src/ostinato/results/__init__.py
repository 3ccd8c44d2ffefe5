"""What leaves: matches as arrays, and the values that measures read from them."""
