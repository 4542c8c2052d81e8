"""A long session of the real program, and what it holds more of at its end than at its start.

`server` answers, stalls, breaks and lies as the prompt commands; `session` is the person at the
terminal; `census` looks at the process from outside; `verdict` compares.
"""
