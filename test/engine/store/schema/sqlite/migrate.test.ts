/** Migrations specific to SQLite. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { planMigration, prepareDatabase } from '../../../../../src/engine/store/schema/sqlite/migrate.ts'
import { applyMigration, openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { integer, string } from '../../../../../src/index.ts'
import { Client, withFile } from '../../blog.ts'
import { books } from '../migration-cases.ts'

test('a model without a required field does not start if the field got its default after its column', () =>
  withFile(async file => {
    const fields = { title: string(), stock: integer({ default: 7 }) }
    const newer = books({ fields })
    const older = books({ fields: { title: fields.title } })
    await openSqlite(books({ fields: { ...fields, stock: integer() } }), { file }).close()
    await openSqlite(newer, { file }).close()
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

const before = books({ fields: { title: string(), stock: integer({ default: 7 }) } })
const after = books({ fields: { title: string(), shelf: string({ optional: true }) } })

test('a start is not confused by a migration that another process commits while it reads the tables', () =>
  withFile(async file => {
    await openSqlite(before, { file }).close()
    const database = new DatabaseSync(file)
    const prepare = database.prepare.bind(database)
    let lists = 0
    // The second statement that lists columns follows the read of the stored schema.
    database.prepare = text => {
      if (text.includes('pragma_table_info') && ++lists === 2)
        applyMigration(file, after, { allowDestructive: true })
      return prepare(text)
    }
    prepareDatabase(database, after, { autoMigrate: true })
    assert.ok(lists > 2)
    database.close()
    assert.deepEqual(planMigration(file, after), [])
  }))
