CREATE TABLE IF NOT EXISTS "_portico" ("key" TEXT PRIMARY KEY NOT NULL, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "_totals" ("collection" TEXT PRIMARY KEY NOT NULL, "n" INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "_events" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "at" TEXT NOT NULL,
  "collection" TEXT NOT NULL,
  "item_id" INTEGER NOT NULL,
  "kind" TEXT NOT NULL CHECK ("kind" IN ('created', 'updated', 'deleted')),
  "data" TEXT NOT NULL,
  "changed" TEXT,
  "before" TEXT,
  "user_id" INTEGER,
  "app_id" INTEGER,
  "type" TEXT,
  "depth" INTEGER,
  "facts" TEXT,
  "facts_before" TEXT,
  "via" TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS "_records" (
  "kind" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "payload" TEXT NOT NULL,
  "expires_at" INTEGER,
  "consumed_at" INTEGER,
  "grant_id" TEXT,
  "alias" TEXT,
  "owner" TEXT,
  PRIMARY KEY ("kind", "id")
) STRICT;

CREATE INDEX IF NOT EXISTS "_records__expires_at" ON "_records" ("expires_at") WHERE "expires_at" IS NOT NULL;

CREATE INDEX IF NOT EXISTS "_records__grant_id" ON "_records" ("grant_id") WHERE "grant_id" IS NOT NULL;

CREATE UNIQUE INDEX IF NOT EXISTS "_records__alias" ON "_records" ("kind", "alias") WHERE "alias" IS NOT NULL;

CREATE INDEX IF NOT EXISTS "_records__owner" ON "_records" ("kind", "owner") WHERE "owner" IS NOT NULL;

CREATE TABLE "users" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "name" TEXT NOT NULL,
  "email" TEXT NOT NULL,
  "role" TEXT DEFAULT 'user' NOT NULL,
  "disabled" INTEGER DEFAULT 0 NOT NULL CHECK ("disabled" IN (0, 1)),
  "password_hash" TEXT,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE UNIQUE INDEX "users__email__unique" ON "users" ("email");

CREATE INDEX "users__created_at__index" ON "users" ("created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'users', count(*) FROM "users";

CREATE TRIGGER "_users_added" AFTER INSERT ON "users" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'users'; END;

CREATE TRIGGER "_users_removed" AFTER DELETE ON "users" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'users'; END;

CREATE TABLE "posts" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "title" TEXT NOT NULL,
  "body" TEXT,
  "author_id" INTEGER NOT NULL REFERENCES "users" ("id") ON DELETE NO ACTION,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE INDEX "posts__author_id__index" ON "posts" ("author_id");

CREATE INDEX "posts__created_at__index" ON "posts" ("created_at");

CREATE INDEX "posts__author_id__created_at__index" ON "posts" ("author_id", "created_at");

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
  "third_party" INTEGER CHECK ("third_party" IN (0, 1)),
  "grant" TEXT,
  "app_id" INTEGER REFERENCES "oauth_apps" ("id") ON DELETE CASCADE,
  "ancestors" TEXT,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE UNIQUE INDEX "api_keys__hash__unique" ON "api_keys" ("hash");

CREATE INDEX "api_keys__grant__index" ON "api_keys" ("grant");

CREATE INDEX "api_keys__user_id__index" ON "api_keys" ("user_id");

CREATE INDEX "api_keys__app_id__index" ON "api_keys" ("app_id");

CREATE INDEX "api_keys__created_at__index" ON "api_keys" ("created_at");

CREATE INDEX "api_keys__user_id__created_at__index" ON "api_keys" ("user_id", "created_at");

CREATE INDEX "api_keys__app_id__created_at__index" ON "api_keys" ("app_id", "created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'api_keys', count(*) FROM "api_keys";

CREATE TRIGGER "_api_keys_added" AFTER INSERT ON "api_keys" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'api_keys'; END;

CREATE TRIGGER "_api_keys_removed" AFTER DELETE ON "api_keys" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'api_keys'; END;

CREATE TABLE "oauth_apps" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "user_id" INTEGER NOT NULL REFERENCES "users" ("id") ON DELETE CASCADE,
  "name" TEXT NOT NULL,
  "type" TEXT DEFAULT 'confidential' NOT NULL,
  "redirect_uris" TEXT NOT NULL,
  "scopes" TEXT,
  "default_scopes" TEXT,
  "scope_separator" TEXT,
  "access_token_format" TEXT,
  "logo_uri" TEXT,
  "homepage_uri" TEXT,
  "policy_uri" TEXT,
  "tos_uri" TEXT,
  "first_party" INTEGER DEFAULT 0 NOT NULL CHECK ("first_party" IN (0, 1)),
  "requests_per_minute" INTEGER,
  "client_id" TEXT NOT NULL,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE UNIQUE INDEX "oauth_apps__client_id__unique" ON "oauth_apps" ("client_id");

CREATE INDEX "oauth_apps__user_id__index" ON "oauth_apps" ("user_id");

CREATE INDEX "oauth_apps__created_at__index" ON "oauth_apps" ("created_at");

CREATE INDEX "oauth_apps__user_id__created_at__index" ON "oauth_apps" ("user_id", "created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'oauth_apps', count(*) FROM "oauth_apps";

CREATE TRIGGER "_oauth_apps_added" AFTER INSERT ON "oauth_apps" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'oauth_apps'; END;

CREATE TRIGGER "_oauth_apps_removed" AFTER DELETE ON "oauth_apps" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'oauth_apps'; END;

CREATE TABLE "oauth_app_secrets" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "app_id" INTEGER NOT NULL REFERENCES "oauth_apps" ("id") ON DELETE CASCADE,
  "prefix" TEXT NOT NULL,
  "expires_at" TEXT,
  "hash" TEXT NOT NULL,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE UNIQUE INDEX "oauth_app_secrets__hash__unique" ON "oauth_app_secrets" ("hash");

CREATE INDEX "oauth_app_secrets__app_id__index" ON "oauth_app_secrets" ("app_id");

CREATE INDEX "oauth_app_secrets__created_at__index" ON "oauth_app_secrets" ("created_at");

CREATE INDEX "oauth_app_secrets__app_id__created_at__index" ON "oauth_app_secrets" ("app_id", "created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'oauth_app_secrets', count(*) FROM "oauth_app_secrets";

CREATE TRIGGER "_oauth_app_secrets_added" AFTER INSERT ON "oauth_app_secrets" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'oauth_app_secrets'; END;

CREATE TRIGGER "_oauth_app_secrets_removed" AFTER DELETE ON "oauth_app_secrets" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'oauth_app_secrets'; END;

CREATE TABLE "webhooks" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "user_id" INTEGER NOT NULL REFERENCES "users" ("id") ON DELETE CASCADE,
  "app_id" INTEGER REFERENCES "oauth_apps" ("id") ON DELETE CASCADE,
  "url" TEXT NOT NULL,
  "types" TEXT NOT NULL,
  "collections" TEXT,
  "enabled" INTEGER DEFAULT 1 NOT NULL CHECK ("enabled" IN (0, 1)),
  "description" TEXT,
  "scopes" TEXT,
  "paused_at" TEXT,
  "pause_reason" TEXT,
  "grant" TEXT,
  "position" INTEGER,
  "secret_version" INTEGER DEFAULT 0 NOT NULL,
  "failing_since" TEXT,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE INDEX "webhooks__grant__index" ON "webhooks" ("grant");

CREATE INDEX "webhooks__user_id__index" ON "webhooks" ("user_id");

CREATE INDEX "webhooks__app_id__index" ON "webhooks" ("app_id");

CREATE INDEX "webhooks__created_at__index" ON "webhooks" ("created_at");

CREATE INDEX "webhooks__user_id__created_at__index" ON "webhooks" ("user_id", "created_at");

CREATE INDEX "webhooks__app_id__created_at__index" ON "webhooks" ("app_id", "created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'webhooks', count(*) FROM "webhooks";

CREATE TRIGGER "_webhooks_added" AFTER INSERT ON "webhooks" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'webhooks'; END;

CREATE TRIGGER "_webhooks_removed" AFTER DELETE ON "webhooks" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'webhooks'; END;

CREATE TABLE "webhook_deliveries" (
  "id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "webhook_id" INTEGER NOT NULL REFERENCES "webhooks" ("id") ON DELETE CASCADE,
  "event_id" TEXT,
  "type" TEXT NOT NULL,
  "collection" TEXT,
  "item_id" INTEGER,
  "user_id" INTEGER REFERENCES "users" ("id") ON DELETE CASCADE,
  "message_id" TEXT NOT NULL,
  "attempt" INTEGER DEFAULT 0 NOT NULL,
  "status" TEXT DEFAULT 'pending' NOT NULL,
  "due_at" TEXT,
  "response_status" INTEGER,
  "duration_ms" INTEGER,
  "response_excerpt" TEXT,
  "error" TEXT,
  "completed_at" TEXT,
  "created_at" TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
) STRICT;

CREATE INDEX "webhook_deliveries__status__due_at__index" ON "webhook_deliveries" ("status", "due_at");

CREATE INDEX "webhook_deliveries__webhook_id__index" ON "webhook_deliveries" ("webhook_id");

CREATE INDEX "webhook_deliveries__user_id__index" ON "webhook_deliveries" ("user_id");

CREATE INDEX "webhook_deliveries__created_at__index" ON "webhook_deliveries" ("created_at");

CREATE INDEX "webhook_deliveries__webhook_id__created_at__index" ON "webhook_deliveries" ("webhook_id", "created_at");

CREATE INDEX "webhook_deliveries__user_id__created_at__index" ON "webhook_deliveries" ("user_id", "created_at");

INSERT OR REPLACE INTO "_totals" ("collection", "n") SELECT 'webhook_deliveries', count(*) FROM "webhook_deliveries";

CREATE TRIGGER "_webhook_deliveries_added" AFTER INSERT ON "webhook_deliveries" BEGIN UPDATE "_totals" SET "n" = "n" + 1 WHERE "collection" = 'webhook_deliveries'; END;

CREATE TRIGGER "_webhook_deliveries_removed" AFTER DELETE ON "webhook_deliveries" BEGIN UPDATE "_totals" SET "n" = "n" - 1 WHERE "collection" = 'webhook_deliveries'; END;
