"""Making room in the open chat: a summary, or leaving messages out, shown before it counts."""
