/** Relay: its compiler accepts the schema, and its runtime and hooks work with a running service. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { adminKey, type Blog, openBlog } from '../../api/transports/blog.ts'
import { portico } from '../processes/command.ts'
import { type Client, openClient } from './client.ts'

let client: Client
let blog: Blog
let results: Readonly<Record<string, unknown>>

const titles = ['relay 5', 'relay 4', 'relay 3', 'relay 2', 'relay 1']

/** Compiles the app against the printed schema, and registers its documents. */
async function prepare(): Promise<string> {
  const schema = await portico(['print', 'schema'])
  assert.equal(schema.code, 0, schema.err)
  writeFileSync(join(client.folder, 'schema.graphql'), schema.out)
  mkdirSync(join(client.folder, 'src', '__generated__'))
  const compiled = await client.tool('relay-compiler', [])
  assert.equal(compiled.code, 0, compiled.out + compiled.err)
  const registered = join(client.folder, 'registered.json')
  const environment = { PORTICO_GRAPHQL_DOCUMENTS: registered }
  const command = ['documents', 'register', join(client.folder, 'documents.json')]
  const { code, err } = await portico(command, { folder: client.folder, environment })
  assert.equal(code, 0, err)
  return registered
}

before(async () => {
  client = openClient('relay')
  const documents = await prepare()
  blog = await openBlog({ graphql: { documents } })
  for (const title of ['other', ...titles.toReversed()])
    await blog.rest('POST', 'posts', { title, author_id: 1 })
  const types = await client.tool('tsc', ['-p', '.'])
  assert.equal(types.code, 0, types.out)
  const { code, out, err } = await client.run({ GRAPHQL_URL: blog.graphql, TOKEN: adminKey })
  assert.equal(code, 0, err)
  assert.equal(err, '')
  results = JSON.parse(out)
})
after(async () => {
  await blog?.close()
  client?.close()
})

describe('Relay', () => {
  it('reads a connection page by page into one list', () => {
    const total = titles.length
    assert.deepEqual(results.pages, {
      first: titles.slice(0, 2),
      all: titles,
      loads: 2,
      total,
      author: 'Administrator',
    })
  })
  it('pages backward through the list of an item by `node`', () => {
    assert.deepEqual(results.pagesFromTheEnd, {
      last: ['relay 4', 'relay 5'],
      more: ['relay 2', 'relay 3', 'relay 4', 'relay 5'],
    })
  })
  it('refetches a fragment by `node`, and every component that shows the item is updated', () => {
    const title = 'relay refetched'
    assert.deepEqual(results.refetches, { was: null, title, body: 'later', inFeed: title })
  })
  it('distinguishes items of different types with the same id', () => {
    assert.deepEqual(results.finds, [
      { node: { __typename: 'User', nodeId: 'User:1', name: 'Administrator' } },
      { node: { __typename: 'Post', nodeId: 'Post:1', title: 'other' } },
      { node: null },
    ])
  })
  it('adds the result of a mutation to the list, updates it, rolls a refused one back, and removes it', () => {
    const { errors, ...others } = results.changes as { readonly errors: readonly string[] }
    assert.deepEqual(others, {
      afterCreate: 'relay made',
      afterDelete: 'relay refetched',
    })
    assert.equal(errors.length, 1)
    assert.match(errors[0] ?? '', /title/)
  })
  it('receives new items by a subscription', () => assert.equal(results.hears, 'relay heard'))
})
