"""Sound devices: recording and playing, each in a program of its own.

That is `device_child.py` with miniaudio, or a command of the settings. Both work alike: what
records prints a WAV file until it is ended, what plays reads a sound from its input and exits when
that was heard. Nothing is written to disk.
"""
