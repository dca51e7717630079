/** The indexes of the table of records, by name: the same on every database. */
export const recordIndexes = {
  _records__expires_at:
    'CREATE INDEX IF NOT EXISTS "_records__expires_at" ON "_records" ("expires_at") WHERE "expires_at" IS NOT NULL',
  _records__grant_id:
    'CREATE INDEX IF NOT EXISTS "_records__grant_id" ON "_records" ("grant_id") WHERE "grant_id" IS NOT NULL',
  _records__alias:
    'CREATE UNIQUE INDEX IF NOT EXISTS "_records__alias" ON "_records" ("kind", "alias") WHERE "alias" IS NOT NULL',
  _records__owner:
    'CREATE INDEX IF NOT EXISTS "_records__owner" ON "_records" ("kind", "owner") WHERE "owner" IS NOT NULL',
}
