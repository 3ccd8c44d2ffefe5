"""What every query sends to workers and needs of them: types, sizes, the package itself."""
