"""Links: where they lead, and opening one."""
