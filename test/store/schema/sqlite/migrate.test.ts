/** Migrations specific to SQLite. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { integer, string } from '../../../../src/index.ts'
import { openSqlite } from '../../../../src/store/sqlite.ts'
import { Client, withFile } from '../../blog.ts'
import { books } from '../migration-cases.ts'

test('an older model does not start on a table of an earlier version, which has no defaults', () =>
  withFile(async file => {
    const fields = { title: string(), stock: integer({ default: 7 }) }
    const newer = books({ fields })
    const older = books({ fields: { title: fields.title } })
    await openSqlite(newer, { file }).close()
    const database = new DatabaseSync(file)
    database.exec(`DROP TABLE "books"; CREATE TABLE "books" (
      "id" INTEGER PRIMARY KEY AUTOINCREMENT, "title" TEXT NOT NULL, "stock" INTEGER NOT NULL, "created_at" TEXT NOT NULL
    ) STRICT`)
    database.close()
    assert.throws(() => openSqlite(older, { file, autoMigrate: false }), /Drop the field books\.stock/)
    const store = openSqlite(newer, { file, autoMigrate: false })
    assert.equal((await new Client(store, newer).create('books', { title: 'Emma' })).id, 1)
    await store.close()
    const added = books({ fields: { ...fields, shelf: string({ default: "reader's" }) } })
    await openSqlite(added, { file }).close()
    const old = openSqlite(newer, { file, autoMigrate: false })
    assert.equal((await new Client(old, newer).create('books', { title: 'Walden' })).id, 2)
    await old.close()
  }))
