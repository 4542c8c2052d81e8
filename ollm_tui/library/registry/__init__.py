"""The registry of models: what can be downloaded, what it is good for, and how it was rated."""
