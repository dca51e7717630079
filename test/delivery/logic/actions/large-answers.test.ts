/** The maximum size of answers in actions and queries of the model: of what they read and write, and of what they return. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  action,
  collection,
  currentUser,
  integer,
  item,
  model,
  query,
  relation,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'
import { assertFits, assertTooLarge } from '../../../api/contract/answers.ts'
import { type Fixture, sharedFixtures } from '../../../identity/conformance/server.ts'
import type { Answer } from '../../../server/serve/service.ts'
import { postgres } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'

// biome-ignore lint/suspicious/noExplicitAny: only generated types describe the arguments of `run`.
type Data = Record<string, any>

const readBytes = 128 * 1024
const writeBytes = 64 * 1024
const body = 'x'.repeat(20_000)
/** How many pages fit into an answer of a transaction. */
const fitting = 3

const open = { read: signedIn, create: signedIn, update: signedIn, delete: signedIn }
const count = { count: integer() }

const declaration = model(
  {
    users: users({}),
    pages: collection({
      fields: {
        title: text({ default: 'page' }),
        body: text({ optional: true }),
        author_id: relation('users', { default: currentUser, inverse: 'pages' }),
      },
      access: open,
    }),
  },
  {
    actions: {
      read_pages: action({
        input: { limit: integer(), times: integer({ default: 1 }) },
        output: count,
        access: signedIn,
        run: async ({ input, data }: Data) => {
          await data.pages.create({ title: 'before' })
          let read = 0
          for (let time = 0; time < input.times; time++) {
            read += (await data.pages.list({ limit: input.limit, sort: ['id'] })).length
          }
          return { count: read }
        },
      }),
      read_as_system: action({
        input: { limit: integer() },
        output: count,
        access: signedIn,
        run: async ({ input, data }: Data) => ({
          count: (await data.asSystem.pages.list({ limit: input.limit, sort: ['id'] })).length,
        }),
      }),
      include_pages: action({
        input: { user: item('users') },
        output: count,
        access: signedIn,
        run: async ({ input, data }: Data) => {
          const user = await data.users.get(input.user.id, { include: ['pages'] })
          return { count: user.pages.length }
        },
      }),
      walk_pages: action({
        output: count,
        access: signedIn,
        run: async ({ data }: Data) => {
          let read = 0
          try {
            for await (const page of data.pages.all()) read += page.body?.length ?? 0
          } catch (error) {
            await data.pages.create({ title: (error as { code: string }).code })
            for await (const _ of data.pages.all({ fields: ['id'] })) read++
          }
          return { count: read }
        },
      }),
      write_page: action({
        input: { length: integer() },
        output: count,
        access: signedIn,
        run: async ({ input, data }: Data) => {
          const { body } = await data.pages.create({ title: 'written', body: 'w'.repeat(input.length) })
          return { count: body.length }
        },
      }),
      return_page: action({
        input: { length: integer() },
        output: item('pages'),
        access: signedIn,
        run: async ({ input, data }: Data) =>
          data.pages.create({ title: 'returned', body: 'r'.repeat(input.length) }),
      }),
      return_both: action({
        input: { length: integer() },
        output: { written: item('pages'), text: text() },
        access: signedIn,
        run: async ({ input, data }: Data) => {
          const page = await data.pages.create({ title: 'both', body: 'b'.repeat(input.length) })
          return { written: page, text: 't'.repeat(input.length) }
        },
      }),
      return_text: action({
        input: { length: integer() },
        output: { text: text() },
        access: signedIn,
        run: async ({ input, data }: Data) => {
          await data.pages.create({ title: 'text' })
          return { text: 't'.repeat(input.length) }
        },
      }),
    },
    queries: {
      pages_of: query({
        input: { limit: integer() },
        output: count,
        access: signedIn,
        run: async ({ input, data }: Data) => ({
          count: (await data.pages.list({ limit: input.limit, sort: ['id'] })).length,
        }),
      }),
      text_of: query({
        input: { length: integer() },
        output: { text: text() },
        access: signedIn,
        run: ({ input }: Data) => ({ text: 'q'.repeat(input.length) }),
      }),
      latest_page: query({
        output: item('pages'),
        access: signedIn,
        run: async ({ data }: Data) => (await data.pages.first({ sort: ['-id'], fields: ['id'] })).id,
      }),
    },
  },
)

interface Pages extends Fixture {
  get(path: string): Promise<Answer>
  act(name: string, input?: object, query?: string): Promise<Answer>
  graphql(document: string): Promise<Answer>
  /** Of all pages. */
  titles(): Promise<readonly string[]>
}

/** Runs `use` with one page more than fits; deletes all pages afterwards. */
async function withPages(fixture: Fixture, use: (pages: Pages) => Promise<void>): Promise<void> {
  const { key } = fixture.ann
  const send = (method: string, path: string, body?: unknown) =>
    fixture.call(path, { method, key, ...(body !== undefined && { body }) })
  const get = (path: string) => send('GET', `/api/v1${path}`)
  const all = async () => {
    const { json } = await get('/pages?fields=id,title&per_page=100&sort=id')
    return json['data'] as readonly { readonly id: number; readonly title: string }[]
  }
  for (let index = 0; index < fitting + 1; index++) {
    assert.equal((await send('POST', '/api/v1/pages?fields=id', { body })).status, 201)
  }
  await use({
    ...fixture,
    get,
    act: (name, input = {}, parameters = '') => send('POST', `/api/v1/actions/${name}${parameters}`, input),
    graphql: document => send('POST', '/graphql', { query: document }),
    titles: async () => (await all()).map(({ title }) => title).filter(title => title !== 'page'),
  })
  for (const { id } of await all()) assert.equal((await send('DELETE', `/api/v1/pages/${id}`)).status, 204)
}

const counted = ({ json }: Answer) => json['count']

for (const setup of [sqlite, postgres]) {
  suite(`the size of answers in the model's code on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup, { maxAnswer: '128 KiB' }, declaration)
    const testPages = (name: string, use: (pages: Pages) => Promise<void>) =>
      test(name, () => withFixture(fixture => withPages(fixture, use)))

    testPages(
      'a read of an action is refused beyond the bound of writes, and the action is undone',
      async pages => {
        const { act, graphql, titles, ann } = pages
        const limit = fitting + 1
        assertTooLarge(await act('read_pages', { limit }), 'list')
        assertTooLarge(await act('read_as_system', { limit }), 'list as the system')
        assertTooLarge(await act('include_pages', { user: ann.id }), 'relation')
        assertTooLarge(await graphql(`mutation { readPages(limit: ${limit}) { count } }`), 'GraphQL')
        assert.deepEqual(await titles(), [])
        // Each read has the whole bound: what the code reads is not the answer.
        const read = await act('read_pages', { limit: fitting, times: 3 })
        assertFits(read, writeBytes, 'three lists')
        assert.equal(counted(read), 3 * fitting)
      },
    )

    testPages('the code of an action can catch the refusal, and read less', async ({ act, titles }) => {
      const walked = await act('walk_pages')
      assertFits(walked, writeBytes, 'walk')
      assert.deepEqual(await titles(), ['ANSWER_TOO_LARGE'])
      assert.equal(counted(walked), fitting + 2)
    })

    testPages('what an action writes and returns is bounded, and is undone beyond it', async pages => {
      const { act, graphql, titles } = pages
      const length = 70_000
      assertTooLarge(await act('write_page', { length }), 'the answer to a write of the code')
      assertTooLarge(await act('return_text', { length }), 'returned values')
      assertTooLarge(await graphql(`mutation { returnText(length: ${length}) { text } }`), 'GraphQL')
      assertTooLarge(await act('return_page', { length: 60_000 }, '?include=author.pages'), 'a returned item')
      assertTooLarge(await act('return_both', { length: 40_000 }), 'values and an item')
      const both = 'returnBoth(length: 40000) { text written { body } }'
      assertTooLarge(await graphql(`mutation { ${both} }`), 'values and an item in GraphQL')
      assert.deepEqual(await titles(), [])
      const text = 'returnText(length: 30000) { text }'
      assertTooLarge(
        await graphql(`mutation @atomic { a: ${text} b: ${text} c: ${text} }`),
        'several actions',
      )
      assert.deepEqual(await titles(), [])
      assertFits(await act('write_page', { length: 60_000 }), writeBytes, 'a shorter text')
      assertFits(await act('return_page', { length: 60_000 }), writeBytes, 'an item')
      assertFits(await act('return_text', { length: 60_000 }), writeBytes, 'values')
      assert.deepEqual(await titles(), ['written', 'returned', 'text'])
    })

    testPages('a query is bounded as an action: what it reads, and what it returns', async pages => {
      const { get, graphql, act } = pages
      const limit = fitting + 1
      assertTooLarge(await get(`/queries/pages_of?limit=${limit}`), 'read')
      assertTooLarge(await graphql(`{ pagesOf(limit: ${limit}) { count } }`), 'read in GraphQL')
      assertTooLarge(await get('/queries/text_of?length=70000'), 'values')
      assertTooLarge(await graphql('{ textOf(length: 70000) { text } }'), 'values in GraphQL')
      assertFits(await get(`/queries/pages_of?limit=${fitting}`), writeBytes, 'read')
      assertFits(await get('/queries/text_of?length=60000'), writeBytes, 'values')
      assertFits(await graphql('{ textOf(length: 60000) { text } }'), writeBytes, 'values in GraphQL')
      assertFits(await act('return_page', { length: 60_000 }), writeBytes, 'an item')
      assertFits(await get('/queries/latest_page'), writeBytes, 'the item of a query')
      assertTooLarge(await get('/queries/latest_page?include=author.pages'), 'an item with its relations')
    })

    testPages(
      'the queries and other fields of one GraphQL request have the bound of reads together',
      async pages => {
        const { graphql } = pages
        const texts = (count: number) =>
          Array.from({ length: count }, (_, index) => `q${index}: textOf(length: 40000) { text }`).join(' ')
        /** The fields that fit are answered. */
        const assertRefused = async (document: string, field: string) => {
          const { text, json } = await graphql(document)
          const { errors } = json as never as { errors: { path: string[]; extensions: { code: string } }[] }
          const refused = errors.map(({ path, extensions: { code } }) => [path[0], code])
          assert.deepEqual(refused, [[field, 'ANSWER_TOO_LARGE']])
          assert.ok(Buffer.byteLength(text) <= readBytes + 1000, field)
        }
        assertFits(await graphql(`{ ${texts(3)} }`), readBytes, 'three queries')
        await assertRefused(`{ ${texts(4)} }`, 'q3')
        assertFits(await graphql(`{ ${texts(2)} pages(limit: 2) { body } }`), readBytes, 'with a list')
        await assertRefused(`{ ${texts(2)} pages(limit: 3) { body } }`, 'pages')
      },
    )
  })
}
