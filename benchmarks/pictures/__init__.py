"""Pictures that the README and the pages show. They are drawn from seeded data."""
