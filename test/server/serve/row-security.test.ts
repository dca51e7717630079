/** A whole service whose database restricts rows by policies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyText } from '../../../src/identity/encryption/record-cipher.ts'
import { generateKey } from '../../../src/identity/keys/key.ts'
import {
  anyone,
  collection,
  model,
  not,
  owner,
  related,
  relation,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import { schemaSqlOf } from '../../../src/tools/cli/commands/migrate.ts'
import blog from '../../models/blog.ts'
import { withOrdinaryDatabase } from '../../setups/databases/ordinary.ts'
import { query } from '../../setups/databases/postgres.ts'
import { call } from './service.ts'

const quiet = { host: '127.0.0.1', port: 0, logLevel: 'silent' } as const

test('row security on SQLite is a settings error', async () => {
  const given = { database: './nowhere/data.db', rowSecurity: true }
  await assert.rejects(serve(blog, { ...given, ...quiet }), /SQLite, which has no row security/)
  await assert.rejects(schemaSqlOf(checkModel(blog), readSettings({ given })), /name a PostgreSQL database/)
})

const blocked = model({
  users: users({}),
  notes: collection({
    fields: { title: string() },
    access: { read: not(related('blocks', owner('user_id'))), create: anyone },
  }),
  blocks: collection({
    fields: {
      note_id: relation('notes', { inverse: 'blocks', onDelete: 'cascade' }),
      user_id: relation('users', { inverse: 'blocks', onDelete: 'cascade' }),
    },
  }),
})

test('events ask whether a row still exists that no rule of another collection reads', () =>
  withOrdinaryDatabase(async ({ url: database }) => {
    const key = generateKey()
    const settings = { ...quiet, database, rowSecurity: true, autoMigrate: true, secretKeys: [newKeyText()] }
    const service = await serve(blocked, { ...settings, adminApiKey: key })
    try {
      const { data, url } = service
      for (const title of ['shown', 'hidden']) await data.notes?.create({ title })
      // The administrator, whose key it is.
      await data.blocks?.create({ note_id: 2, user_id: 1 })
      const events = await call(`${url}/api/v1/events?after=0&types=note.created`, { key })
      assert.equal(events.status, 200, events.text)
      assert.deepEqual(
        (events.json['data'] as readonly { readonly item_id: number }[]).map(({ item_id }) => item_id),
        [1],
      )
    } finally {
      await service.close()
    }
  }))

test('a service with row security starts on an empty database, and REST, GraphQL, keys and totals work', async () => {
  await withOrdinaryDatabase(async ({ url: database }) => {
    const key = generateKey()
    const settings = { ...quiet, database, rowSecurity: true, autoMigrate: true, secretKeys: [newKeyText()] }
    const service = await serve(blog, { ...settings, adminApiKey: key })
    const { url } = service
    try {
      const posted = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title: 'One' } })
      assert.equal(posted.status, 201)
      const list = await call(`${url}/api/v1/posts?include=author`, { key })
      assert.deepEqual((list.json.meta as { total: number }).total, 1)
      assert.equal((await call(`${url}/api/v1/posts/1`)).json.title, 'One')
      const mutation = 'mutation { updatePost(id: 1, title: "Two") { title author { email } } }'
      const changed = await call(`${url}/graphql`, { method: 'POST', key, body: { query: mutation } })
      assert.match(changed.text, /"title":"Two","author":\{"email":"admin@example\.com"\}/)
      const created = await call(`${url}/api/v1/api_keys`, {
        method: 'POST',
        key,
        body: { name: 'reads', scopes: ['read:post'] },
      })
      const reads = String(created.json.key)
      assert.equal((await call(`${url}/api/v1/posts`, { key: reads })).status, 200)
      assert.equal((await call(`${url}/api/v1/users`, { key: reads })).code, 'INSUFFICIENT_SCOPE')
      assert.equal((await call(`${url}/api/v1/posts/1`, { method: 'DELETE', key })).status, 204)
      assert.deepEqual(await query(database, 'SELECT 1 FROM users'), [])
    } finally {
      await service.close()
    }
  })
})
