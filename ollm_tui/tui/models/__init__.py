"""The models screen: the list, the details, the picker, and what can be done with a model."""
