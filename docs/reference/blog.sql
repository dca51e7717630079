CREATE TABLE IF NOT EXISTS "_portico" ("key" TEXT PRIMARY KEY NOT NULL, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "_totals" ("collection" TEXT PRIMARY KEY NOT NULL, "n" INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "_events" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "at" TEXT NOT NULL,
  "collection" TEXT NOT NULL,
  "item_id" INTEGER NOT NULL,
  "kind" TEXT NOT NULL CHECK ("kind" IN ('created', 'updated', 'deleted')),
  "data" TEXT NOT NULL,
  "changed" TEXT
) STRICT;

CREATE TABLE "users" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "name" TEXT NOT NULL,
  "email" TEXT NOT NULL,
  "role" TEXT NOT NULL,
  "password_hash" TEXT,
  "created_at" TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX "users__email__unique" ON "users" ("email");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'users', count(*) FROM "users";

CREATE TRIGGER "_users_added" AFTER INSERT ON "users" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'users'; END;

CREATE TRIGGER "_users_removed" AFTER DELETE ON "users" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'users'; END;

CREATE TABLE "posts" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "title" TEXT NOT NULL,
  "body" TEXT,
  "author_id" INTEGER NOT NULL REFERENCES "users" ("id") ON DELETE NO ACTION,
  "created_at" TEXT NOT NULL
) STRICT;

CREATE INDEX "posts__author_id__index" ON "posts" ("author_id");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'posts', count(*) FROM "posts";

CREATE TRIGGER "_posts_added" AFTER INSERT ON "posts" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'posts'; END;

CREATE TRIGGER "_posts_removed" AFTER DELETE ON "posts" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'posts'; END;

CREATE TABLE "api_keys" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "user_id" INTEGER NOT NULL REFERENCES "users" ("id") ON DELETE CASCADE,
  "name" TEXT NOT NULL,
  "scopes" TEXT,
  "expires_at" TEXT,
  "prefix" TEXT NOT NULL,
  "hash" TEXT NOT NULL,
  "created_at" TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX "api_keys__hash__unique" ON "api_keys" ("hash");

CREATE INDEX "api_keys__user_id__index" ON "api_keys" ("user_id");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'api_keys', count(*) FROM "api_keys";

CREATE TRIGGER "_api_keys_added" AFTER INSERT ON "api_keys" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'api_keys'; END;

CREATE TRIGGER "_api_keys_removed" AFTER DELETE ON "api_keys" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'api_keys'; END;
