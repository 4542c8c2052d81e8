"""Downloads: the queue, its states, what is kept of it, and what runs each kind of origin."""
