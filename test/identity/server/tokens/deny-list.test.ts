/** The deny list of JWT access tokens: a denial is stored before the deletion that causes it, until the tokens expire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { NewRecord, Records, StoredRecord } from '../../../../src/base/records.ts'
import { Denials, grantHash, withDenials } from '../../../../src/identity/server/tokens/deny-list.ts'

const lifetimeSeconds = 3600

/** Records that log the order of slow changes. */
function recording(owned: readonly string[] = []) {
  const done: string[] = []
  const denied: NewRecord[] = []
  const slowly = async <T>(what: string, answer: T): Promise<T> => {
    await turn()
    done.push(what)
    return answer
  }
  const records = {
    put: (record: NewRecord) => {
      denied.push(record)
      return slowly(`deny ${record.id}`, undefined)
    },
    byOwner: async () => owned.map(id => ({ id })),
    delete: (kind: string, id: string) => slowly(`delete ${kind} ${id}`, true),
    deleteGrant: (grant: string) => slowly(`delete all of ${grant}`, 1),
    deleteOwned: (owner: string) => slowly(`delete all of user ${owner}`, 1),
  } as unknown as Records
  return { records: withDenials(records, lifetimeSeconds), done, denied }
}

const [first, second] = [grantHash('first'), grantHash('second')]

const deletions: readonly (readonly [
  name: string,
  remove: (records: Records) => Promise<unknown>,
  expected: readonly string[],
])[] = [
  ['a grant', records => records.delete('Grant', 'first'), [`deny ${first}`, 'delete Grant first']],
  [
    'a grant with its tokens',
    records => records.deleteGrant('first'),
    [`deny ${first}`, 'delete all of first'],
  ],
  ['a token', records => records.delete('AccessToken', 't'), ['deny t', 'delete AccessToken t']],
  [
    'a client-credentials token',
    records => records.delete('ClientCredentials', 't'),
    ['deny t', 'delete ClientCredentials t'],
  ],
  [
    'a user’s grants',
    records => records.deleteOwned('7', ['Grant', 'AccessToken']),
    [`deny ${first}`, `deny ${second}`, 'delete all of user 7'],
  ],
  ['a user’s sessions', records => records.deleteOwned('7', ['Session']), ['delete all of user 7']],
  ['a code', records => records.delete('AuthorizationCode', 'c'), ['delete AuthorizationCode c']],
]

for (const [name, remove, expected] of deletions) {
  test(`${name}: the denial is stored before the deletion`, async () => {
    const { records, done } = recording(['first', 'second'])
    await remove(records)
    assert.deepEqual(done, expected)
  })
}

test('a denial lasts as long as a token issued just before it', async () => {
  const { records, denied } = recording()
  const before = Date.now()
  await records.deleteGrant('first')
  const after = Date.now()
  const [{ kind, expiresAt } = assert.fail('nothing is denied')] = denied
  assert.equal(kind, 'Denial')
  assert.ok(
    expiresAt !== null &&
      expiresAt >= before + lifetimeSeconds * 1000 &&
      expiresAt <= after + lifetimeSeconds * 1000,
  )
})

test('denials are read once, and again after any revocation', async () => {
  const versions = new Map<string, number>()
  const stored: string[] = []
  let reads = 0
  const records = {
    version: (kind: string) => versions.get(kind) ?? 1,
    all: async () => {
      reads++
      return stored.map(id => ({ id }) as StoredRecord)
    },
  } as unknown as Records
  const denials = new Denials(records)
  assert.deepEqual([...(await denials.ids())], [])
  await denials.ids()
  assert.equal(reads, 1)
  for (const kind of ['Grant', 'RefreshToken', 'AccessToken', 'ClientCredentials']) {
    stored.push(kind)
    versions.set(kind, 2)
    assert.ok((await denials.ids()).has(kind), kind)
  }
  assert.equal(reads, 5)
})

test('a denial that is stored during a read is not missed', async () => {
  const read = Promise.withResolvers<readonly StoredRecord[]>()
  const answers = [read.promise, Promise.resolve([{ id: 'late' } as StoredRecord])]
  let version = 1
  const denials = new Denials({ version: () => version, all: () => answers.shift() } as unknown as Records)
  const early = denials.ids()
  version++
  read.resolve([])
  assert.deepEqual([...(await early)], [])
  assert.deepEqual([...(await denials.ids())], ['late'])
})
