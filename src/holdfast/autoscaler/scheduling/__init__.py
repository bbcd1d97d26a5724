"""What fits where: pods on nodes there are, on nodes to come, and on what is left when some leave."""
