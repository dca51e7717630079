/** graphql-codegen reads the schema from a running service, and programs compile with its types. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  buildClientSchema,
  buildSchema,
  type GraphQLSchema,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { adminKey, type Blog, openBlog } from '../../api/transports/blog.ts'
import { type Client, openClient } from './client.ts'

const reference = readFileSync(new URL('../../../docs/reference/blog.graphql', import.meta.url), 'utf8')
const sorted = (schema: GraphQLSchema) => printSchema(lexicographicSortSchema(schema))

let client: Client
let blog: Blog

before(async () => {
  blog = await openBlog()
  client = openClient('codegen')
})
after(async () => {
  client?.close()
  await blog?.close()
})

const generate = (TOKEN: string) =>
  client.tool('graphql-codegen', ['--config', 'codegen.ts'], { GRAPHQL_URL: blog.graphql, TOKEN })

describe('graphql-codegen', () => {
  it('reports the reason when its key is wrong', async () => {
    const { code, out, err } = await generate('pk_wrong')
    assert.equal(code, 1)
    assert.match(out + err, /The credential is wrong/)
  })
  it('generates its files from the running service', async () => {
    const { code, out, err } = await generate(adminKey)
    assert.equal(code, 0, out + err)
  })
  it('reads the whole schema, by introspection and as SDL', () => {
    const read = (name: string) => readFileSync(join(client.folder, name), 'utf8')
    // It does not query where scalars are specified.
    const expected = sorted(buildSchema(reference.replaceAll(/ @specifiedBy\(.*\)/g, '')))
    assert.equal(sorted(buildSchema(read('schema.graphql'))), expected)
    assert.equal(sorted(buildClientSchema(JSON.parse(read('schema.json')))), expected)
  })
  it('generates types with which a program compiles, writes and reads', async () => {
    const types = await client.tool('tsc', ['-p', '.'])
    assert.equal(types.code, 0, types.out)
    const { code, out, err } = await client.run({ GRAPHQL_URL: blog.graphql, TOKEN: adminKey })
    assert.equal(code, 0, err)
    const line = (title: string) => `codegen ${title}, no body, Administrator, true`
    assert.deepEqual(JSON.parse(out), [[line('three'), line('two')], [line('one')]])
  })
  it('generates types that reject what the service would refuse', async () => {
    const wrong = [
      'client.request(CreatePost, { title: "no author" })',
      'client.request(Posts, { orderBy: "NOTHING_ASC" })',
      'client.request(Posts, { filter: { title: { gt: 1 } } })',
      'client.request(Posts, {}).then(({ postsConnection }) => postsConnection.nothing)',
    ]
    appendFileSync(
      join(client.folder, 'src', 'main.ts'),
      wrong.map(statement => `void ${statement}\n`).join(''),
    )
    const { code, out } = await client.tool('tsc', ['-p', '.'])
    assert.equal(code, 1)
    assert.equal(out.match(/error TS/g)?.length, wrong.length, out)
  })
})
