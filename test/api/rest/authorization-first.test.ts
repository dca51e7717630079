/** A missing permission is reported before any other fault in a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serviceOfFile } from '../../server/serve/service.ts'

const service = serviceOfFile({ rateLimit: 'off' })

const reads = [
  '/api/v1/users?name[in]=',
  '/api/v1/users?nonsense=1',
  '/api/v1/users?page=x',
  '/api/v1/users?%zz',
  '/api/v1/users/1?fields=nonsense',
  '/api/v1/users/1/posts?title[in]=',
  '/api/v1/users/1/posts?nonsense',
  '/api/v1/users/1/posts?page=0',
  '/api/v1/me?nonsense=1',
  '/api/v1/api_keys?nonsense=1',
  '/api/v1/users/1/api_keys?nonsense=1',
]

function assertUnauthorized({ status, code, headers }: Answer, details: string): void {
  assert.deepEqual([status, code], [401, 'UNAUTHORIZED'], details)
  assert.ok(headers.get('WWW-Authenticate'), details)
}

test('a read that lacks its credential is a 401 before its parameters are validated', async () => {
  for (const path of reads) {
    assertUnauthorized(await service().call(path), path)
    assertUnauthorized(
      await service().call(path, { headers: { Accept: 'image/png' } }),
      `${path} as an image`,
    )
    assertUnauthorized(await service().call(path, { method: 'HEAD' }).then(withCode), `HEAD ${path}`)
    assert.equal(
      (await service().call(path, { key: service().key })).status,
      400,
      `${path} of an administrator`,
    )
  }
})

/** A response to HEAD has no body with the code. */
function withCode(answer: Answer): Answer {
  return { ...answer, code: answer.status === 401 ? 'UNAUTHORIZED' : undefined }
}

test('a write that lacks its credential is a 401 before its body, headers and parameters are validated', async () => {
  const writes = [
    ['POST', '/api/v1/posts'],
    ['POST', '/api/v1/users?nonsense=1'],
    ['PUT', '/api/v1/posts/1'],
    ['PATCH', '/api/v1/posts/1?nonsense'],
    ['DELETE', '/api/v1/posts/1?nonsense'],
    ['DELETE', '/api/v1/users/99'],
  ] as const
  const wrong = [
    { headers: { 'Content-Type': 'text/plain' } },
    { headers: { 'If-None-Match': '*' } },
    { headers: { 'If-Match': 'nonsense' } },
    { headers: { Accept: 'image/png' } },
    { body: 'no object' },
    {},
  ]
  for (const [method, path] of writes) {
    for (const options of wrong) {
      const answer = await service().call(path, { method, ...options })
      assertUnauthorized(answer, `${method} ${path} ${JSON.stringify(options)}`)
    }
  }
})

test('a mutation that lacks its credential is UNAUTHORIZED before its values are validated', async () => {
  const documents = [
    'mutation { createPost(title: "", authorId: "0") { id } }',
    'mutation { createUser(name: "", email: "no address") { id } }',
    'mutation { updatePost(id: "nonsense", title: "") { id } }',
    'mutation { deletePost(id: "nonsense") }',
  ]
  for (const query of documents) {
    const { json } = await service().call('/graphql', { method: 'POST', body: { query } })
    const [error] = json.errors as readonly { readonly extensions: { readonly code: string } }[]
    assert.equal(error?.extensions.code, 'UNAUTHORIZED', `${query} ${JSON.stringify(json)}`)
  }
})
