"""The simulated world, and the tools that look for schedules that break us."""
