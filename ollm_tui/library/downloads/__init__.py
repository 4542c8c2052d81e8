"""Downloads: a queue of jobs, the transfers they run, and their files on disk."""
