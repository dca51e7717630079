/** Connections that read: one that the server ends costs no read its answer. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from '../../../src/store/postgres/pool.ts'
import { statementOf } from '../../../src/store/postgres/statement.ts'
import { Wire } from '../../../src/store/postgres/wire.ts'
import { sql } from '../../../src/store/sql/writer.ts'
import { noInputs } from '../../../src/store/values.ts'
import { query, withPostgres } from '../../databases/postgres.ts'

test('a read whose connection the server ends is asked again on another', async () => {
  await withPostgres(async url => {
    const open = () => Wire.open({ url, connectTimeout: 20_000, answerTimeout: 60_000, settings: '' })
    const pool = new Pool({ open, size: 1, maxWaiting: 10 })
    try {
      const slow = pool.rows(statementOf(sql`SELECT pg_backend_pid() FROM pg_sleep(1)`), noInputs)
      const running = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND state = 'active'`
      let [first] = await query(url, running)
      while (first === undefined) {
        await wait(20)
        ;[first] = await query(url, running)
      }
      await query(url, 'SELECT pg_terminate_backend($1)', [first.pid])
      const [[second] = []] = await slow
      assert.equal(typeof second, 'number')
      assert.notEqual(second, first.pid)
    } finally {
      await pool.close()
    }
  })
})
