"""Which machine to ask for: what each costs, what it is worth, and which holds what waits for least."""
