"""The tables of the settings for tools, commands and servers of them."""
