"""The chat screen: prompts, answers, branches and saved chats."""
