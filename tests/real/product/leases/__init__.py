"""The leases on a stream that reshards, with a real KCL and a real control plane."""
