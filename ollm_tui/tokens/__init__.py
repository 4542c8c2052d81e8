"""Tokens: how many a request has, how many a model can hold, and what to do if it has too many."""
