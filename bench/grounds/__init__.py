"""What benchmarks stand on: worlds, lists and streams to measure in."""
