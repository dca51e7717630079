/** `kill -9` during the deletion of an account: the next start continues, and until then the account is of no use. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { startProcess } from '../processes/portico.ts'

const lines = 6000
const allowed = 100

test('an account is gone with everything that belonged to it, after kills at several points', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-erase-'))
  const key = generateKey()
  const environment = {
    PORTICO_MODEL: resolve(import.meta.dirname, '../../models/shop.ts'),
    DATABASE_URL: 'data.db',
    PORTICO_ADMIN_API_KEY: key,
    PORTICO_QUOTAS: `cascade=${allowed}`,
    PORTICO_RATE_LIMIT: 'off',
  }
  const start = () => startProcess({ folder, environment })
  const count = (from: string) => {
    const database = new DatabaseSync(join(folder, 'data.db'), { timeout: 60_000 })
    try {
      return Number(database.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.['n'])
    } finally {
      database.close()
    }
  }
  /** Waits up to two minutes. */
  const until = async (condition: () => boolean) => {
    for (let tries = 0; !condition(); tries++) {
      assert.ok(tries < 2400, 'it did not happen')
      await setTimeout(50)
    }
  }
  try {
    let service = await start()
    const create = async (collection: string, body: object, credential = key) => {
      const created = await service.call(`/api/v1/${collection}`, { method: 'POST', key: credential, body })
      assert.equal(created.status, 201, created.text)
      return created.json
    }
    const { id } = await create('users', { name: 'Ann', email: 'ann@example.com' })
    const order = await create('orders', { number: '1', buyer_id: id })
    for (let added = 0; added < lines; added += 1000) {
      const items = Array.from({ length: 1000 }, (_, line) => ({ sku: `${line}`, order_id: order['id'] }))
      await create('lines', items)
    }
    const body = { reason: 'asked' }
    const erased = await service.call(`/api/v1/users/${id}/erase`, { method: 'POST', key, body })
    assert.equal(erased.status, 204, erased.text)
    for (let kills = 0; kills < 3; kills++) {
      const before = count('lines')
      if (kills > 0) await until(() => count('lines') < before)
      await service.end('SIGKILL')
      // The account comes last.
      assert.equal(count(`users WHERE id = ${id} AND disabled = 1`), 1)
      assert.ok(count('lines') > 0)
      service = await start()
    }
    await until(() => count('users') === 1)
    assert.deepEqual([count('orders'), count('lines')], [0, 0])
    assert.equal(count("_events WHERE collection = 'lines' AND kind = 'deleted'"), lines)
    await service.end('SIGTERM')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
