"""What a loop that watches costs while nothing happens, and how soon it reacts when something does."""
