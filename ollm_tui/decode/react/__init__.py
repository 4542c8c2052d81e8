"""ReAct: thoughts, one tool call or the answer, written as labelled text."""
