-- Messages are a tree: each knows the one it follows, and a conversation the end of its active path.
-- The numbers are stable row ids for an index of the text; the ids are what everything else uses.
-- Times are milliseconds since 1970 in UTC.

CREATE TABLE conversations (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  title_by TEXT NOT NULL CHECK (title_by IN ('question', 'model', 'person')),
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  model TEXT,
  provider TEXT,
  system_prompt TEXT,
  options TEXT NOT NULL,
  leaf_id TEXT
);

CREATE INDEX conversations_by_update ON conversations (updated_ms, number);

-- No cascade along the parents: SQLite gives up on chains of a thousand. All messages of a
-- conversation go with it at once, and the parents are looked at when that is done.
CREATE TABLE messages (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
  parent_id TEXT REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED,
  depth INTEGER NOT NULL,
  role TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('complete', 'streaming', 'interrupted', 'stopped', 'failed')),
  writer TEXT,
  model TEXT,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  body TEXT NOT NULL
);

CREATE INDEX messages_by_conversation ON messages (conversation_id);
CREATE INDEX messages_by_parent ON messages (parent_id);
CREATE INDEX messages_being_written ON messages (writer) WHERE state = 'streaming';
