/** A copy includes every column of Portico's own tables, whichever version added it. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { copyDatabase } from '../../../../src/engine/store/copy/copy.ts'
import { copyTables } from '../../../../src/engine/store/copy/tables.ts'
import { schemaOf } from '../../../../src/engine/store/schema/tables.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, withFile } from '../blog.ts'
import { sqliteLocation } from './locations.ts'

/** Runs `use` with the file of a database that holds one event. */
async function withEvent(use: (file: string) => Promise<void>): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    await new Client(store).create('users', { name: 'x', email: 'x@example.com' })
    await store.close()
    await use(file)
  })
}

test('a copy includes every column of Portico’s own tables', () =>
  withEvent(async file => {
    const database = new DatabaseSync(file)
    const columnsOf = database.prepare('SELECT "name" FROM pragma_table_info(?) ORDER BY "name"')
    for (const { name, columns } of copyTables(schemaOf(blog)).filter(table => table.name.startsWith('_'))) {
      const stored = columnsOf.all(name).map(row => String(row.name))
      assert.deepEqual(columns.map(column => column.name).toSorted(), stored, name)
    }
    database.close()
  }))

test('a copied event keeps its depth in the chain of reactions', () =>
  withEvent(file =>
    withFile(async target => {
      const database = new DatabaseSync(file)
      database.exec('UPDATE "_events" SET "depth" = 7')
      database.close()
      await copyDatabase(blog, {
        from: sqliteLocation(file),
        to: sqliteLocation(target),
        live: false,
        onProgress: () => {},
      })
      const copy = openSqlite(blog, { file: target })
      const [event] = await copy.changes.after(0, 10)
      assert.equal(event?.depth, 7)
      await copy.close()
    }),
  ))
