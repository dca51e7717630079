-- What Hasura tracks: the tables of an ordinary PostgreSQL database.
CREATE TABLE users (id text PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE, created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE articles (
  id serial PRIMARY KEY,
  title text NOT NULL,
  body text,
  is_published boolean NOT NULL DEFAULT false,
  author_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  meta jsonb,
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO users VALUES
  ('auth0|5f7c', 'Ada', 'ada@example.com', '2025-03-01 09:00:00+01'),
  ('auth0|61aa', 'Ben', 'ben@example.com', '2025-04-01 09:00:00+02');
INSERT INTO articles (id, title, body, is_published, author_id, meta, created_at) VALUES
  (7, 'Roses in winter', E'Cover them.\nUse "fleece".', true, 'auth0|5f7c', '{"words": 2}', '2025-05-01 12:00:00.5+00'),
  (9, 'A draft', NULL, false, 'auth0|61aa', NULL, '2025-06-01 12:00:00+00');
