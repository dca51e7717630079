/** `portico users export`, `portico users delete`, and what `portico check` says of a person's data. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { portico as command } from '../../system/processes/command.ts'

let folder = ''

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-personal-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const environment = {
  PORTICO_MODEL: resolve(import.meta.dirname, '../../models/shop.ts'),
  DATABASE_URL: 'data.db',
  PORTICO_QUOTAS: 'cascade=20',
}
const portico = (...words: string[]) => command(words, { folder, environment })

test('portico check says of each mark what it does, and which relations to users say nothing', async () => {
  const { out, code } = await portico('check')
  assert.equal(code, 0)
  assert.deepEqual(out.trimEnd().split('\n').slice(1), [
    'orders.buyer_id is personal: exported, deleted with the account.',
    'lines.order_id is personal: exported, deleted with the item of orders.',
    'reviews.author_id is personal: exported, kept without the person after the account.',
    'invoices.order_id is personal: exported, prevents the deletion of the item of orders.',
    'receipts.buyer_id is personal: exported, deleted with the account.',
    'secrets.about_id is personal: not exported, because the role `user` may not read it, deleted with the account.',
    'drafts.by_id names a user, and does not say whether it is personal: write `personal: true`, or `personal: false`.',
  ])
})

test('an operator writes the data of a person to a file, and deletes the account, in slices where it has to be', async () => {
  for (const name of ['ann', 'ben']) {
    const created = await portico('users', 'create', '--email', `${name}@example.com`)
    assert.equal(created.code, 0, created.err)
  }
  const database = new DatabaseSync(join(folder, 'data.db'))
  try {
    const at = '2026-01-31T12:00:00.000Z'
    const order = database.prepare(
      'INSERT INTO orders (id, number, margin, pin, trace, buyer_id, created_at) SELECT ?, ?, 7, ?, ?, id, ? FROM users WHERE email = ?',
    )
    const line = database.prepare(
      "INSERT INTO lines (sku, hidden, order_id, created_at) VALUES ('x', 0, ?, ?)",
    )
    for (const [id, name] of [
      [1, 'ann'],
      [2, 'ben'],
    ] as const) {
      order.run(id, `of ${name}`, 'the pin', 'the trace', at, `${name}@example.com`)
      for (let count = 0; count < 30; count++) line.run(id, at)
    }
    const file = join(folder, 'ann.json')
    const exported = await portico('users', 'export', 'ann@example.com', '--file', 'ann.json')
    assert.match(exported.err, /Exported the data of ann@example\.com/)
    const { account, items } = JSON.parse(readFileSync(file, 'utf8'))
    assert.equal(account.email, 'ann@example.com')
    assert.deepEqual(
      items.orders.map((found: { readonly number: string }) => found.number),
      ['of ann'],
    )
    assert.equal(items.lines.length, 30)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    for (const secret of ['the pin', 'the trace', 'margin', 'password_hash', 'ben'])
      assert.ok(!readFileSync(file, 'utf8').includes(secret), secret)

    const again = await portico('users', 'export', String(account.id), '--file', 'ann.json')
    assert.match(again.err, /already exists/)
    const byId = await portico('users', 'export', String(account.id))
    assert.deepEqual(JSON.parse(byId.out).items.lines.length, 30)
    assert.match((await portico('users', 'export', '999')).err, /No user has the id 999/)

    const deleted = await portico('users', 'delete', 'ann@example.com')
    assert.equal(deleted.out, 'Deleted ann@example.com, with what belonged to the account\n', deleted.err)
    const left = ['users', 'orders', 'lines', "_records WHERE kind LIKE 'AccountDeletion%'"].map(
      from => database.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.['n'],
    )
    assert.deepEqual(left, [1, 1, 30, 0])
    database.exec("INSERT INTO invoices (order_id, created_at) VALUES (2, '2026-01-31T12:00:00.000Z')")
    const refused = await portico('users', 'delete', 'ben@example.com')
    assert.equal(refused.code, 1)
    assert.match(refused.err, /ben@example\.com was not deleted\. Items of invoices still refer/)
    assert.equal(database.prepare('SELECT count(*) AS n FROM lines').get()?.['n'], 30)
  } finally {
    database.close()
  }
})
