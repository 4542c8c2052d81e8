"""A running model server: what `curl` gets from it, and what the program gets.

Run it with `python -m benchmarks.servers KIND URL MODEL`.
"""
