"""The screens: each does one job, owns its workers and talks to the services."""
