"""The built-in engine: llama.cpp in a supervised child process, one for each model."""
