"""`make cluster`: a cluster and a cloud to play with, and what a bad day does to them."""
