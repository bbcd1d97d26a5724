"""Commands that change something: one module each."""
