/** Remembered positions of deep pages: found and used only where nothing has changed that the versions do not count. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../src/plan/guard.ts'
import { system } from '../../../src/principal.ts'
import { Answers } from '../../../src/store/answers.ts'
import { Checks } from '../../../src/store/postgres/checks.ts'
import { Lease } from '../../../src/store/postgres/lease.ts'
import { pageReader } from '../../../src/store/postgres/pages.ts'
import { Pool } from '../../../src/store/postgres/pool.ts'
import { unlocked } from '../../../src/store/postgres/security.ts'
import type { Query, Rows } from '../../../src/store/postgres/statement.ts'
import { noSlots } from '../../../src/store/values.ts'
import { Versions } from '../../../src/store/versions.ts'
import { blog, listOfPosts } from '../blog.ts'

const calm: Rows = [['1:1:', null, 0]]
const touched: Rows = [['1:2:', '1\nposts', 0]]
const elsewhere: Rows = [['1:2:', '1\nusers', 0]]

/** Reads pages from a database that gives `checks` in turn. Returns the statements for the rows of pages. */
async function statementsFor(checks: readonly Rows[]): Promise<string[]> {
  const { shape } = createGuard(blog)({ shape: listOfPosts, args: [0, 2] }, system)
  const versions = new Versions()
  const pool = new Pool({ open: () => Promise.reject(new Error('not asked')), size: 1, maxWaiting: 1 })
  const said = [...checks]
  const texts: string[] = []
  const ask = async ([, rows]: readonly Query[]): Promise<readonly Rows[]> => {
    texts.push(rows?.statement.text ?? '')
    return [said.shift() ?? [], [499, 500, 501].map(id => [`{"id":${id}}`, id])]
  }
  const { window } = shape
  assert.ok(window.kind === 'page')
  const read = pageReader(shape, window, {
    ask,
    answers: new Answers(0),
    versions,
    checks: new Checks({ pool, versions, lease: new Lease(), onChange() {} }),
    security: unlocked,
  })
  while (said.length > 0) await read({ args: [500, 2], userId: null, slots: noSlots }, [])
  return texts
}

test('a page is read by counting once, then from the position that was found', async () => {
  const [counted, anchored, again] = await statementsFor([calm, elsewhere, calm])
  assert.notEqual(anchored, counted)
  assert.equal(again, anchored)
})

test('a position that was found in a snapshot with something new is not kept', async () => {
  const [first, second] = await statementsFor([touched, calm])
  assert.equal(second, first, 'counted again')
})

test('a page that was read from a position in a snapshot with something new is read again by counting', async () => {
  const [counted, anchored, again] = await statementsFor([calm, touched, calm])
  assert.notEqual(anchored, counted)
  assert.equal(again, counted)
})
