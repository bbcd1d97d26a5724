"""What it costs to decide where pods go."""
