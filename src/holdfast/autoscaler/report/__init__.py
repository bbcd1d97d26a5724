"""What a person is told: what it does, why, what it would do next, and what that costs."""
