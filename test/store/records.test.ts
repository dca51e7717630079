import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { checkModel } from '../../src/model/check.ts'
import type { NewRecord } from '../../src/records.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import blog from '../models/blog.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-records-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function open(file = join(folder, `${++files}.db`)) {
  const clock = { now: 1_000_000 }
  const store = openSqlite(checkModel(blog), { file, now: () => clock.now })
  return { store, records: store.records, clock, file }
}

function record(id: string, more: Partial<NewRecord> = {}): NewRecord {
  return { kind: 'Token', id, payload: '{"a":1}', expiresAt: 2_000_000, ...more }
}

describe('records', () => {
  it('gives back what was stored, by id, alias and owner', async () => {
    const { store, records } = open()
    await records.put(record('1', { grant: 'g', alias: 'short', owner: '7' }))
    const expected = {
      kind: 'Token',
      id: '1',
      payload: '{"a":1}',
      expiresAt: 2_000_000,
      consumedAt: null,
      grant: 'g',
      alias: 'short',
      owner: '7',
    }
    assert.deepEqual(records.get('Token', '1'), expected)
    assert.deepEqual(records.byAlias('Token', 'short'), expected)
    assert.deepEqual(records.byOwner('Token', '7'), [expected])
    assert.deepEqual(records.all('Token'), [expected])
    assert.equal(records.get('Other', '1'), undefined)
    assert.equal(records.byAlias('Other', 'short'), undefined)
    assert.deepEqual(records.byOwner('Other', '7'), [])
    await store.close()
  })

  it('replaces by kind and id, and lets what is used up stay so', async () => {
    const { store, records, clock } = open()
    await records.put(record('1'))
    assert.equal(await records.consume('Token', '1'), true)
    await records.put(record('1', { payload: '{"a":2}' }))
    assert.equal(records.get('Token', '1')?.payload, '{"a":2}')
    assert.equal(records.get('Token', '1')?.consumedAt, clock.now)
    assert.equal(await records.consume('Token', '1'), false)
    await store.close()
  })

  it('gives out nothing whose time is over', async () => {
    const { store, records, clock } = open()
    await records.put(record('1', { alias: 'a', owner: '7' }))
    await records.put(record('2', { expiresAt: null, owner: '7' }))
    clock.now = 2_000_000
    assert.equal(records.get('Token', '1'), undefined)
    assert.equal(records.byAlias('Token', 'a'), undefined)
    assert.deepEqual(
      records.byOwner('Token', '7').map(({ id }) => id),
      ['2'],
    )
    assert.equal(await records.consume('Token', '1'), false)
    assert.equal(await records.add(record('1', { expiresAt: 3_000_000 })), true)
    await store.close()
  })

  it('swaps a payload for another, if it is still the one that was read', async () => {
    const { store, records } = open()
    const key = { kind: 'Token', id: '1' }
    await records.put(record('1', { grant: 'g', alias: 'short', owner: '7' }))
    const version = records.version('Token')
    assert.equal(await records.swap(key, '{"a":2}', '{"a":3}'), false)
    assert.equal(records.version('Token'), version)
    assert.equal(await records.swap(key, '{"a":1}', '{"a":3}'), true)
    assert.ok(records.version('Token') > version)
    const { payload, grant, alias, owner } = records.get('Token', '1') ?? {}
    assert.deepEqual([payload, grant, alias, owner], ['{"a":3}', 'g', 'short', '7'])
    assert.equal(await records.swap({ ...key, id: '2' }, '{"a":1}', '{"a":3}'), false)
    const round = Array.from({ length: 20 }, (_, at) => records.swap(key, '{"a":3}', `{"a":${at + 10}}`))
    assert.equal((await Promise.all(round)).filter(Boolean).length, 1)
    await store.close()
  })

  it('lets exactly one of many consume, and one of many add', async () => {
    const { store, records } = open()
    for (let round = 0; round < 20; round++) {
      const id = `c${round}`
      await records.put(record(id))
      const consumed = await Promise.all(Array.from({ length: 20 }, () => records.consume('Token', id)))
      assert.equal(consumed.filter(Boolean).length, 1)
      const added = await Promise.all(Array.from({ length: 20 }, () => records.add(record(`a${round}`))))
      assert.equal(added.filter(Boolean).length, 1)
    }
    assert.equal(await records.consume('Token', 'unknown'), false)
    await store.close()
  })

  it('lets one of two processes on the same file win', async () => {
    const one = open()
    const two = open(one.file)
    for (let round = 0; round < 20; round++) {
      await one.records.put(record(`${round}`))
      const wins = await Promise.all([
        one.records.consume('Token', `${round}`),
        two.records.consume('Token', `${round}`),
      ])
      assert.equal(wins.filter(Boolean).length, 1)
    }
    await one.store.close()
    await two.store.close()
  })

  it('deletes by grant over all kinds, and by owner over the kinds named', async () => {
    const { store, records } = open()
    await records.put(record('1', { grant: 'g', owner: '7' }))
    await records.put(record('2', { grant: 'g', kind: 'Code' }))
    await records.put(record('3', { grant: 'h', owner: '7' }))
    await records.put(record('4', { kind: 'Session', owner: '7' }))
    await records.put(record('5', { owner: '70' }))
    assert.equal(await records.deleteGrant('g'), 2)
    assert.equal(records.get('Code', '2'), undefined)
    assert.equal(await records.deleteOwned('7', ['Token', 'Session']), 2)
    assert.deepEqual(
      records.all('Token').map(({ id }) => id),
      ['5'],
    )
    assert.equal(await records.deleteGrant('g'), 0)
    assert.equal(await records.delete('Token', '5'), true)
    assert.equal(await records.delete('Token', '5'), false)
    await store.close()
  })

  it('refuses an alias that another record of the kind has', async () => {
    const { store, records } = open()
    await records.put(record('1', { alias: 'same' }))
    await assert.rejects(records.put(record('2', { alias: 'same' })), { code: 'CONFLICT' })
    await records.put(record('3', { alias: 'same', kind: 'Other' }))
    assert.equal(records.get('Token', '2'), undefined)
    await store.close()
  })

  it('changes its version when a record changes or goes, not when one comes', async () => {
    const { store, records } = open()
    const before = records.version('Token')
    await records.put(record('1', { grant: 'g', owner: '7' }))
    await records.add(record('2', { owner: '7' }))
    assert.equal(records.version('Token'), before)
    const steps = [
      () => records.put(record('1', { grant: 'g', owner: '7' })),
      () => records.consume('Token', '1'),
      () => records.deleteGrant('g'),
      () => records.deleteOwned('7', ['Token']),
    ]
    let last = before
    for (const step of steps) {
      const other = records.version('Other')
      await step()
      assert.ok(records.version('Token') > last)
      assert.equal(records.version('Other'), other)
      last = records.version('Token')
    }
    await records.delete('Token', 'unknown')
    assert.equal(records.version('Token'), last)
    await store.close()
  })

  it('changes its version when another process changes a record', async () => {
    const one = open()
    const two = open(one.file)
    await one.records.put(record('1'))
    const before = two.records.version('Token')
    await one.records.delete('Token', '1')
    assert.ok(two.records.version('Token') > before)
    assert.equal(two.records.get('Token', '1'), undefined)
    await one.store.close()
    await two.store.close()
  })

  it('is durable, and survives a restart', async () => {
    const { store, records, file } = open()
    await records.put(record('1'))
    await records.consume('Token', '1')
    await store.close()
    const again = open(file)
    assert.equal(again.records.get('Token', '1')?.consumedAt, 1_000_000)
    assert.equal(await again.records.consume('Token', '1'), false)
    await again.store.close()
  })

  it('removes what has expired a step at a time, beside other writes', async () => {
    const { store, records, clock, file } = open()
    await Promise.all(Array.from({ length: 450 }, (_, at) => records.put(record(`x${at}`))))
    await records.put(record('kept', { expiresAt: null }))
    const count = () => {
      const database = new DatabaseSync(file, { readOnly: true })
      const row = database.prepare('SELECT count(*) AS n FROM "_records"').get()
      database.close()
      return Number(row?.n)
    }
    assert.equal(count(), 451)
    clock.now = 2_000_001
    const left: number[] = []
    for (let step = 0; step < 3; step++) {
      await records.put(record('kept', { expiresAt: null }))
      left.push(count())
    }
    assert.deepEqual(left, [251, 51, 1])
    await store.close()
  })

  it('is made in a database that lacks it', async () => {
    const { store, file } = open()
    await store.close()
    const database = new DatabaseSync(file)
    database.exec('DROP TABLE "_records"')
    database.close()
    const again = open(file)
    await again.records.put(record('1'))
    assert.equal(again.records.get('Token', '1')?.id, '1')
    await again.store.close()
  })

  it('keeps hostile texts as they are', async () => {
    const { store, records } = open()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (text, id) => {
        const whole = Buffer.from(text).toString()
        if (whole.includes('\0') || id.includes('\0')) return
        await records.put(record(id, { payload: JSON.stringify(whole) }))
        assert.equal(JSON.parse(records.get('Token', id)?.payload ?? ''), whole)
      }),
      { numRuns: 50 },
    )
    await store.close()
  })
})
