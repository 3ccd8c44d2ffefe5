"""What `ost.*` exports: each public function and class, with its options checked."""
