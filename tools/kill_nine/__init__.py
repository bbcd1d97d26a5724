"""Kills workers with SIGKILL while they change one record in one SQLite file, and looks for damage.

`python -m tools.kill_nine --kills 200 --seed 1`.  It shows what the death of a process can
do; the machine stays up, so it says nothing about power cuts.
"""
