"""Saved chats in files: written for people and programs, and read from those of other programs.

What is written is a stream of text made from one record of the store. What is read is foreign: each
value may have any type, and each file any size.
"""
