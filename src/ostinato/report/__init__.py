"""Results -> pictures and pages for people: SVG charts and one HTML page that needs nothing else."""
