-- What the list of chats shows, sorts by and chooses by, in one index: a list of ten thousand chats
-- is put in order without reading their rows. Tags are words between spaces, such as ' home work '.
-- The counts are kept by triggers; a message counts for the size once it no longer grows.

ALTER TABLE conversations ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN is_archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN total_messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE conversations SET
  total_messages = (SELECT count(*) FROM messages WHERE conversation_id = conversations.id)
    - (SELECT count(*) FROM deleted_messages WHERE conversation_id = conversations.id),
  size_bytes = (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM messages
    WHERE conversation_id = conversations.id AND state <> 'streaming');

CREATE INDEX listed_conversations ON conversations
  (deleted_ms, is_archived, is_pinned, updated_ms, created_ms, title, model, tags,
   total_messages, size_bytes);

CREATE TRIGGER count_message AFTER INSERT ON messages BEGIN
  UPDATE conversations SET total_messages = total_messages + 1,
    size_bytes = size_bytes
      + CASE new.state WHEN 'streaming' THEN 0 ELSE length(CAST(new.body AS BLOB)) END
    WHERE id = new.conversation_id;
END;

CREATE TRIGGER measure_message AFTER UPDATE OF body, state ON messages
WHEN new.state <> 'streaming' BEGIN
  UPDATE conversations SET size_bytes = size_bytes + length(CAST(new.body AS BLOB))
      - CASE old.state WHEN 'streaming' THEN 0 ELSE length(CAST(old.body AS BLOB)) END
    WHERE id = new.conversation_id;
END;

CREATE TRIGGER discount_message AFTER DELETE ON messages BEGIN
  UPDATE conversations SET total_messages = total_messages - 1,
    size_bytes = size_bytes
      - CASE old.state WHEN 'streaming' THEN 0 ELSE length(CAST(old.body AS BLOB)) END
    WHERE id = old.conversation_id;
END;

CREATE TRIGGER discount_deleted_message AFTER INSERT ON deleted_messages BEGIN
  UPDATE conversations SET total_messages = total_messages - 1 WHERE id = new.conversation_id;
END;

CREATE TRIGGER count_restored_message AFTER DELETE ON deleted_messages BEGIN
  UPDATE conversations SET total_messages = total_messages + 1 WHERE id = old.conversation_id;
END;
