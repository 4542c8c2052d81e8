"""The registry of models: what there is to fetch, what it is good for, and how it was liked."""
