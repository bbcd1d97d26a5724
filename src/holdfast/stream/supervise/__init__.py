"""A command that runs under a cap: started with the number, started anew when shards would stay unread.

Here belong the process itself (`child`, `orphans`), the signals that reach it (`signals`), its health
endpoints (`health`), and the loop that joins them with the cap (`supervisor`).  Which number is told, and
when a restart is due, is decided in `holdfast.leases`.
"""
