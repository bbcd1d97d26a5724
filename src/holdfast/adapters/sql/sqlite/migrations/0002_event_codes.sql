-- Why an event happened, as a stable code beside the words.
ALTER TABLE events ADD COLUMN code TEXT NOT NULL DEFAULT '';
