"""What is done with saved chats beyond writing them: branches, deletions and copies."""
