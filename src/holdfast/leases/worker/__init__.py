"""One worker at work on its ports: live, or once at its start.

Here belong the turns that a worker takes, and the lines that it logs.  What is decided is decided in the
package above; threads, signals and settings belong to `holdfast.stream`.
"""
