"""What the program adds to a request, beside a bare socket that sends the same bytes."""
