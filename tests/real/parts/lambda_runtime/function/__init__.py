"""What would be in the zip file of a function."""
