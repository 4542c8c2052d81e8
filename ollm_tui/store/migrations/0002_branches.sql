-- Two programs may go on with one chat: each then writes a branch of its own.
-- The revision counts what was done to a chat, so that a program notices what another one did.
-- The settings of a branch are those of its newest message that has any; older messages have none,
-- and their branch goes on with those of the conversation.

ALTER TABLE conversations ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN settings TEXT;
