import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseManifest } from '../../../src/api/graphql/documents/manifest.ts'
import { documentHash } from '../../../src/api/graphql/documents/stored-documents.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings, type Settings } from '../../../src/server/config/config.ts'
import { listDocuments, registerDocuments } from '../../../src/tools/cli/commands/documents.ts'
import { Failure } from '../../../src/tools/cli/failure.ts'
import { admin, openBlog } from '../../api/transports/blog.ts'
import blog from '../../models/blog.ts'

const model = checkModel(blog)
const query = 'query Titles { posts { title } }'
let folder = ''
let settings: Settings

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-documents-'))
  settings = readSettings({ given: { graphql: { documents: join(folder, 'documents.json') } } })
})
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const register = (...files: string[]) => registerDocuments(model, settings, files)

describe('portico documents', () => {
  it('lists no documents at first', async () => {
    assert.equal(await listDocuments(settings), 'No documents are registered.\n')
  })
  it('registers documents, manifests of hashes, and those of Apollo', async () => {
    const two = 'query A { me { id } } query B { me { name } }'
    const three = 'mutation Add { createPost(title: "x", authorId: 1) { id } }'
    const apollo = {
      format: 'apollo-persisted-query-manifest',
      version: 1,
      operations: [{ id: documentHash(three), name: 'Add', type: 'mutation', body: three }],
    }
    const output = await register(
      file('one.graphql', `\n${query}\n`),
      file('two.json', { [`sha256:${documentHash(two)}`]: two }),
      file('apollo.json', apollo),
    )
    assert.match(output, /^3 documents added/)
    assert.match(await register(file('again.graphql', query)), /^0 documents added/)
    const list = await listDocuments(settings)
    const lines = [
      `sha256:${documentHash(query)}  Titles`,
      `sha256:${documentHash(two)}  A B`,
      `sha256:${documentHash(three)}  Add`,
    ]
    assert.deepEqual(list.trim().split('\n'), lines.sort())
  })
  const wrong: readonly [name: string, content: unknown, message: RegExp][] = [
    ['a.graphql', '{ nothing }', /a\.graphql, \w{8}…: Cannot query field "nothing"/],
    ['b.graphql', 'fragment F on Post { id }', /no operation/],
    ['c.graphql', '{', /Syntax Error/],
    ['e.json', '{', /e\.json: it is not JSON/],
    ['f.json', { abc: query }, /"abc" is not the SHA-256/],
    ['g.json', [query], /must be a JSON object/],
    ['h.json', { operations: [{ id: 'x' }] }, /must be a JSON object/],
  ]
  for (const [name, content, message] of wrong) {
    it(`refuses ${name}, and changes nothing`, async () => {
      const before = readFileSync(settings['graphql.documents'].file, 'utf8')
      await assert.rejects(register(file(name, content)), error => {
        assert.ok(error instanceof Failure)
        assert.match(error.message, message)
        return true
      })
      assert.equal(readFileSync(settings['graphql.documents'].file, 'utf8'), before)
    })
  }
  it('names a missing file', async () => {
    await assert.rejects(register(join(folder, 'none.graphql')), /There is no file/)
  })
  it('says that the file cannot be written', async () => {
    const elsewhere = readSettings({
      given: { graphql: { documents: join(folder, 'nowhere', 'documents.json') } },
    })
    const registered = registerDocuments(model, elsewhere, [file('one.graphql', query)])
    await assert.rejects(registered, { name: 'Failure', message: /^Cannot write to .*nowhere.*: ENOENT/ })
  })
  it('reads the manifests that it writes', () => {
    const text = readFileSync(settings['graphql.documents'].file, 'utf8')
    assert.equal(parseManifest(text).get(documentHash(query)), query)
  })
  it('determines what a service with registered documents executes', async () => {
    const service = await openBlog({
      graphql: { documents: settings['graphql.documents'].file },
    })
    const ask = async (body: unknown) => {
      const headers = { 'Content-Type': 'application/json', ...admin }
      const response = await fetch(service.graphql, { method: 'POST', headers, body: JSON.stringify(body) })
      return response.text()
    }
    assert.match(await ask({ documentId: `sha256:${documentHash(query)}` }), /^\{"data":\{"posts":\[\]/)
    assert.match(await ask({ query }), /^\{"data":/)
    assert.match(await ask({ query: '{ posts { id } }' }), /"code":"FORBIDDEN"/)
    await service.close()
  })
  it('prevents the start of a service if they cannot be read', async () => {
    const documents = file('broken.json', '{')
    await assert.rejects(openBlog({ graphql: { documents } }), /graphql\.documents.*not JSON/s)
  })
})
