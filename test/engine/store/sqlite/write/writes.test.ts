/** Writes and reads of SQLite: rules over related rows, limits, and cached answers made of several collections. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../../../src/engine/plan/order.ts'
import type { CreateShape, ListShape } from '../../../../../src/engine/plan/plan.ts'
import { openSqlite, type SqliteStore } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { anyone, collection, field, model, related, relation, string } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import { Client, fields } from '../../blog.ts'
import { failure } from '../../contract.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const teams = checkModel(
  model({
    teams: collection({ access, fields: { name: string() } }),
    players: collection({
      access: { ...access, create: related('team', field('name').eq('open')) },
      fields: { name: string(), team_id: relation('teams') },
    }),
  }),
)
const ann = user(1, 'user', 'all')

async function withTeams(use: (client: Client, ids: readonly number[], store: SqliteStore) => Promise<void>) {
  const store = openSqlite(teams, { file: ':memory:' })
  try {
    const client = new Client(store, teams)
    const createdTeams = [
      await client.create('teams', { name: 'open' }),
      await client.create('teams', { name: 'closed' }),
    ]
    await use(
      client,
      createdTeams.map(({ id }) => id),
      store,
    )
  } finally {
    await store.close()
  }
}

const list: ListShape = {
  kind: 'list',
  collection: 'players',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: orderById,
  window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
  select: [
    ...fields('name'),
    { kind: 'relation', key: 'team', relation: 'team', select: fields('name'), list: undefined },
  ],
}

test('a create forbidden by a rule on a related row is undone', () =>
  withTeams(async (client, [open = 0, closed = 0]) => {
    await client.create('players', { name: 'a', team_id: open }, ann)
    await assert.rejects(client.create('players', { name: 'b', team_id: closed }, ann), failure('FORBIDDEN'))
    assert.equal((await client.list(list, [0, 10])).items?.length, 1)
  }))

test('a change of any collection in an answer invalidates it', () =>
  withTeams(async (client, [open = 0]) => {
    await client.create('players', { name: 'a', team_id: open })
    const names = async () => (await client.list(list, [0, 10])).items
    assert.deepEqual(await names(), [{ name: 'a', team: { name: 'open' } }])
    await client.update('teams', open, { name: 'renamed' })
    assert.deepEqual(await names(), [{ name: 'a', team: { name: 'renamed' } }])
  }))

test('a create beyond the maximum number of references to an item is refused', () =>
  withTeams(async (_client, [open = 0], store) => {
    const shape: CreateShape = {
      kind: 'create',
      collection: 'players',
      set: [
        { field: 'name', param: 0 },
        { field: 'team_id', param: 1 },
      ],
      computed: [],
      limit: { field: 'team_id', count: 2, refusal: 'The team is full.' },
      select: fields('id'),
    }
    const guard = createGuard(teams)
    const add = () => store.write(guard({ shape, args: ['a', open] }, ann))
    await add()
    await add()
    await assert.rejects(add(), { code: 'CONFLICT', message: 'The team is full.' })
  }))
