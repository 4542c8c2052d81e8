"""Every key of the app, in one table, and what is made of it."""
