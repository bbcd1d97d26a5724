"""How the leases are drawn for people; what is drawn comes from `holdfast.leases.report`."""
