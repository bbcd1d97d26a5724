"""What developers run and users never see: not shipped in the wheel."""
