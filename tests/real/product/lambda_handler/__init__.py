"""The shipped function, out of its zip, under AWS's own runtime, against real systems."""
