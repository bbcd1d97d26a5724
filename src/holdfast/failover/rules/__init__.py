"""The server's rules: one ordered table, first match wins, and its number stands in every event.

Here belong the rules by concern, and what they share: the situation that they are asked in and the
answers that they give.  `table` puts them in order.  All of it is pure.
"""
