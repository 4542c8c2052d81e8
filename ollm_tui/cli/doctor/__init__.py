"""`ollm doctor`: what is set up, what answers, and what to do where something does not."""
