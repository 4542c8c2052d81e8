-- What is deleted stays until it is purged; the time of a deletion is its name within a chat.
-- Marks of messages are kept apart: a column behind a long body costs reading all of it.
-- A branch that was shown is remembered by its last message.

ALTER TABLE conversations ADD COLUMN deleted_ms INTEGER;

CREATE INDEX deleted_conversations ON conversations (deleted_ms) WHERE deleted_ms IS NOT NULL;

CREATE TABLE deleted_messages (
  message_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
  conversation_id TEXT NOT NULL,
  deleted_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX deleted_by_conversation ON deleted_messages (conversation_id, deleted_ms);
CREATE INDEX deleted_by_time ON deleted_messages (deleted_ms);

CREATE TABLE shown_branches (
  leaf_id TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
  conversation_id TEXT NOT NULL,
  shown_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX shown_by_conversation ON shown_branches (conversation_id);
