import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { Connector } from '../../../../../src/engine/store/postgres/connections/connector.ts'
import { statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { connect } from '../../../../../src/engine/store/schema/postgres/session.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import { anyone, collection, datetime, model, number, users } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { query, serverUrl, withPostgres } from '../../../../setups/databases/postgres.ts'
import { Client } from '../../blog.ts'

/** Each a setting that a database or role may have, and what connections must have instead. */
const hostile: readonly (readonly [name: string, value: string, expected: string])[] = [
  ['timezone', 'Pacific/Apia', 'UTC'],
  ['datestyle', 'German, DMY', 'ISO, MDY'],
  ['intervalstyle', 'iso_8601', 'postgres'],
  ['extra_float_digits', '0', '1'],
  ['bytea_output', 'escape', 'hex'],
  ['standard_conforming_strings', 'off', 'on'],
  ['transform_null_equals', 'on', 'off'],
  ['quote_all_identifiers', 'on', 'off'],
  ['row_security', 'off', 'on'],
  ['default_transaction_isolation', 'serializable', 'read committed'],
  ['default_transaction_deferrable', 'on', 'off'],
  ['synchronous_commit', 'off', 'on'],
  ['client_encoding', 'latin1', 'UTF8'],
]
const timeouts = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
]

/** No test waits for as long; a login may. */
const hostileTimeout = '17s'

async function withHostileDatabase(use: (url: string) => Promise<void>): Promise<void> {
  await withPostgres(async url => {
    const name = pg.escapeIdentifier(new URL(url).pathname.slice(1))
    const all = [...hostile, ...timeouts.map(setting => [setting, hostileTimeout])]
    const statements = all.map(
      ([setting, value]) => `ALTER DATABASE ${name} SET ${setting} = ${pg.escapeLiteral(String(value))}`,
    )
    await query(await serverUrl(), statements.join(';'))
    await use(url)
  })
}

const shown = (name: string) => statementOf([`SELECT current_setting('${name}')`])

test('a connection has the settings that it relies on, whatever the database has', () =>
  withHostileDatabase(async url => {
    const migrating = await connect(url)
    const connector = new Connector({
      timeoutMs: 5000,
      schema: 'public',
      rowSecurity: false,
      onSlow: () => {},
    })
    const writer = await connector.openWriter(url)
    try {
      for (const [name, , expected] of hostile) {
        const { rows } = await migrating.query(`SHOW ${name}`)
        assert.deepEqual(Object.values(rows[0]), [expected], `${name}, of a migration`)
        const { results } = await writer.run([shown(name).with(noInputs)])
        assert.equal(results[0]?.[0]?.[0], expected, `${name}, of a write`)
      }
      for (const name of timeouts) {
        const { rows } = await migrating.query(`SHOW ${name}`)
        assert.deepEqual(Object.values(rows[0]), ['0'], `${name}, of a migration`)
        const { results } = await writer.run([shown(name).with(noInputs)])
        assert.notEqual(results[0]?.[0]?.[0], hostileTimeout, `${name}, of a write`)
      }
    } finally {
      await Promise.all([migrating.end(), writer.close()])
    }
  }))

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const measured = checkModel(
  model({ users: users(), things: collection({ fields: { x: number(), at: datetime() }, access }) }),
)

test('numbers and times come back whole, and writes work, whatever the database has as its settings', () =>
  withHostileDatabase(async url => {
    const store = await openPostgres(measured, { url })
    const client = new Client(store, measured)
    const values = [
      0.1 + 0.2,
      1 / 3,
      2.3937731236517994e93,
      -4.020471631465187e184,
      5e-324,
      123456789.12345679,
    ]
    for (const x of values) {
      const at = '2026-03-04T05:06:07.000Z'
      const { id } = await client.create('things', { x, at })
      const item = (await client.item('things', id)) as { readonly x: number; readonly at: string }
      assert.deepEqual([item.x, item.at], [x, at])
    }
    await store.close()
  }))

test('a service stays in the schema that was the first when it started', () =>
  withPostgres(async url => {
    const name = pg.escapeIdentifier(new URL(url).pathname.slice(1))
    const store = await openPostgres(measured, { url })
    const client = new Client(store, measured)
    await client.create('things', { x: 1, at: '2026-01-01T00:00:00.000Z' })
    const user = String((await query(url, 'SELECT current_user AS "name"'))[0]?.name)
    await query(url, `CREATE SCHEMA ${pg.escapeIdentifier(user)}`)
    await query(url, `ALTER DATABASE ${name} SET search_path = pg_catalog`)
    await query(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    // The first call may meet a connection that was just closed.
    await client.item('things', 1).catch(() => {})
    assert.partialDeepStrictEqual(await client.item('things', 1), { x: 1 })
    await store.check()
    await store.close()
  }))
