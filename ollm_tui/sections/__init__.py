"""Tables that the user writes, in the settings file or for a model family.

They are data classes. Values that are plainly right are read without pydantic, whose import takes
a fifth of the time of `ollm -p`; it reads all others, and says what is wrong.
"""
