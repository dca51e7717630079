/** The scope of an action allows what the action does, and not what the client selects in addition. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  collection,
  count,
  datetime,
  item,
  model,
  owner,
  query,
  relation,
  signedIn,
  string,
  text,
} from '../../../../src/index.ts'
import type { GivenSettings } from '../../../../src/server/config/config.ts'
import { testService } from '../../../../src/testing.ts'
import { testOfOthers } from '../../../chosen.ts'
import { withOrdinaryDatabase } from '../../../setups/databases/ordinary.ts'

const access = { read: signedIn, create: signedIn }
const library = model(
  {
    shelves: collection({
      singular: 'shelf',
      fields: { name: text(), code: text({ default: 'x77' }) },
      access,
    }),
    books: collection({
      fields: { title: text(), shelf_id: relation('shelves', { inverse: 'books' }) },
      computed: { loans_count: count('loans') },
      access,
    }),
    loans: collection({
      fields: { book_id: relation('books', { inverse: 'loans' }), user_id: relation('users') },
      access: { read: owner('user_id') },
    }),
  },
  {
    actions: {
      lend: action({
        on: 'books',
        output: item('books'),
        access: signedIn,
        scope: 'lend:book',
        async run({ item: book, caller, data }) {
          await data.asSystem.loans.create({ book_id: book.id, user_id: caller?.id ?? 0 })
          return book.id
        },
      }),
    },
    queries: {
      latest: query({
        output: { book: item('books') },
        access: signedIn,
        scope: 'lend:book',
        run: async ({ data }) => ({ book: (await data.books.first())?.id ?? 0 }),
      }),
    },
  },
)

async function requireScopesOfSelection(settings: GivenSettings = {}): Promise<void> {
  const service = await testService(library, { settings })
  try {
    const ada = await service.users.create({ name: 'Ada' })
    const shelf = await service.asSystem.shelves.create({ name: 'Top' })
    await service.asSystem.books.create({ title: 'Emma', shelf_id: shelf.id })
    const keyOf = async (...scopes: string[]) => {
      const { body } = await service.request('POST /api/v1/api_keys', {
        as: ada,
        body: { name: 'key', scopes },
      })
      return { authorization: `Bearer ${body.key}` }
    }
    const [alone, both] = [await keyOf('lend:book'), await keyOf('lend:book', 'read:shelf', 'read:loan')]
    const lend = async (search: string, headers: Record<string, string>) => {
      const { status, body } = await service.request(`POST /api/v1/books/1/lend${search}`, { headers })
      return [status, body.error?.message ?? Object.keys(body).join()]
    }
    const plain = 'id,title,shelf_id,created_at'
    assert.deepEqual(await lend('', alone), [200, plain])
    assert.deepEqual(await lend('?include=shelf', alone), [403, 'This needs the scope read:shelf.'])
    assert.deepEqual(await lend('?fields=loans_count', alone), [403, 'This needs the scope read:loan.'])
    assert.deepEqual(await lend('?include=shelf', both), [200, `${plain},shelf`])
    assert.deepEqual(await lend('?fields=loans_count', both), [200, 'loans_count'])
    // Other items of the same collection are not the output.
    assert.deepEqual(await lend('?include=shelf.books', both), [403, 'This needs the scope read:book.'])
    const graphql = async (document: string, headers: Record<string, string>) => {
      const { body } = await service.request('POST /graphql', { headers, body: { query: document } })
      return body.errors?.[0].extensions.code ?? body.data
    }
    const title = { title: 'Emma' }
    assert.deepEqual(await graphql('mutation { lend(id: 1) { title } }', alone), { lend: title })
    const code = 'INSUFFICIENT_SCOPE'
    assert.equal(await graphql('mutation { lend(id: 1) { shelf { code } } }', alone), code)
    assert.equal(await graphql('mutation { lend(id: 1) { loansCount } }', alone), code)
    assert.deepEqual(await graphql('{ latest { book { title } } }', alone), { latest: { book: title } })
    assert.equal(await graphql('{ latest { book { shelf { code } } } }', alone), code)
    assert.equal(await graphql('mutation { lend(id: 1) { shelf { books { title } } } }', both), code)
    assert.equal(await graphql('{ latest { book { shelf { books { title } } } } }', both), code)
    const shelved = { lend: { shelf: { code: 'x77' } } }
    assert.deepEqual(await graphql('mutation { lend(id: 1) { shelf { code } } }', both), shelved)
    // REST refuses before the action runs; in GraphQL a selection fails after it, as that of any mutation.
    assert.equal(await service.asSystem.loans.count(), 8)
  } finally {
    await service.close()
  }
}

test('related items and computed fields of the answer need scopes of their own', () =>
  requireScopesOfSelection())

testOfOthers(
  'related items and computed fields of the answer need scopes of their own, with row security',
  () =>
    withOrdinaryDatabase(({ url }) =>
      requireScopesOfSelection({ database: url, rowSecurity: true, autoMigrate: true }),
    ),
)

const clocked = model(
  { notes: collection({ fields: { title: text() }, access }) },
  {
    actions: {
      tell: action({ output: { at: datetime() }, access: signedIn, run: ({ now }) => ({ at: now }) }),
      write_forever: action({
        of: 'notes',
        input: { title: string() },
        access: signedIn,
        async run({ input, data }) {
          for (;;) await data.notes.create(input)
        },
      }),
    },
    queries: {
      time: query({ output: { at: datetime() }, access: signedIn, run: ({ now }) => ({ at: now }) }),
    },
  },
)

test('actions and queries have the service’s clock and limits in GraphQL too', async () => {
  const now = '2026-05-04T09:00:00.000Z'
  const service = await testService(clocked, {
    now,
    settings: { logic: { limits: { action: '60 s', code: '2 min' } } },
  })
  try {
    const as = await service.users.create({ name: 'Ada' })
    const graphql = async (document: string) =>
      (await service.request('POST /graphql', { as, body: { query: document } })).body
    assert.deepEqual((await graphql('mutation { tell { at } }')).data, { tell: { at: now } })
    assert.deepEqual((await graphql('{ time { at } }')).data, { time: { at: now } })
    const { errors } = await graphql('mutation { writeForever(title: "a") }')
    const rest = await service.request('POST /api/v1/notes/write_forever', { as, body: { title: 'a' } })
    assert.equal(errors?.[0].extensions.code, rest.body.error.code)
    assert.equal(await service.asSystem.notes.count(), 0)
  } finally {
    await service.close()
  }
})
