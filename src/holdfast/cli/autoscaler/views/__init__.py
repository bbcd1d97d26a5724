"""What the commands print for people: one screen a command, and nothing that decides."""
