/** Batches: several operations in one transaction, each with the response and errors that it would have on its own. */
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'
import { admin, ann, ben, nobody, posts, reader, seedBlog } from './blog.ts'
import type { OpenHarness } from './harness.ts'
import { runScenarios, type Scenario } from './scenario.ts'

const post = { method: 'POST', url: '/api/v1/batch', as: ann } as const
const next = posts + 1
const create = { method: 'POST', path: '/posts', body: { title: 'New' } }

function fault(field: string, code?: string) {
  return { error: { code: 'VALIDATION_FAILED', details: [{ field, ...(code && { code }) }] } }
}

const working: readonly Scenario[] = [
  {
    ...post,
    name: 'each operation sees the changes of the earlier ones',
    body: {
      operations: [
        { ...create, as: 'post' },
        { method: 'PATCH', path: '/posts/$post.id', body: { body: '$post.title' } },
        { method: 'GET', path: '/posts/$post.id?fields=id,body' },
        { method: 'GET', path: '/posts?per_page=1&sort=-id&fields=id,title' },
        { method: 'PUT', path: '/posts/1', body: { title: 'Replaced' } },
        { method: 'DELETE', path: '/posts/3' },
        { method: 'GET', path: '/me?fields=name' },
        { method: 'GET', path: '/users/2/posts?per_page=1&fields=title' },
        { method: 'GET', path: '/posts/1?include=author' },
      ],
    },
    status: 200,
    sends: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Location: null },
    has: {
      results: [
        { status: 201, body: { id: next, title: 'New', body: null } },
        { status: 200, body: { id: next, body: 'New' } },
        { status: 200, body: { id: next, body: 'New', title: undefined } },
        { status: 200, body: { data: [{ id: next, title: 'New' }], meta: { total: posts + 1, page: 1 } } },
        { status: 200, body: { id: 1, title: 'Replaced', body: null } },
        { status: 204, body: null },
        { status: 200, body: { name: 'Ann' } },
        { status: 200, body: { data: [{ title: 'Replaced' }], meta: { total: posts - 1 } } },
        { status: 200, body: { id: 1, author: { name: 'Ann' } } },
      ],
    },
    changes: ['posts'],
  },
  {
    ...post,
    name: 'anonymous callers read public items',
    as: nobody,
    body: {
      operations: [
        { method: 'GET', path: '/posts/1' },
        { method: 'GET', path: '/posts?cursor=&per_page=1' },
      ],
    },
    status: 200,
    has: { results: [{ status: 200, body: { title: 'Post 1' } }, { body: { data: [{ id: 1 }] } }] },
  },
  {
    ...post,
    name: 'a leading $$ stands for one $; other dollar signs stay',
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'POST', path: '/posts', body: { title: '$$a.id', body: '$5.00 and $a.id' } },
        { method: 'POST', path: '/posts', body: { title: '$$$a', body: '$a' } },
      ],
    },
    status: 200,
    has: {
      results: [
        {},
        { body: { title: '$a.id', body: '$5.00 and $a.id' } },
        { body: { title: '$$a', body: '$a' } },
      ],
    },
    changes: ['posts'],
  },
  {
    ...post,
    name: 'an operation with a matching entity tag is applied',
    as: admin,
    body: { operations: [{ method: 'PATCH', path: '/posts/1', body: { title: 'x' }, if_match: '*' }] },
    status: 200,
    changes: ['posts'],
  },
  {
    ...post,
    name: 'a hundred operations are accepted',
    body: { operations: Array.from({ length: 100 }, () => create) },
    status: 200,
    changes: ['posts'],
  },
  {
    ...post,
    name: 'an administrator creates an account and an item that belongs to it',
    as: admin,
    body: {
      operations: [
        { method: 'POST', path: '/users', body: { name: 'Cy', email: 'cy@example.com' }, as: 'cy' },
        { method: 'POST', path: '/posts', body: { title: 'Of Cy', author_id: '$cy.id' } },
      ],
    },
    status: 200,
    has: { results: [{ status: 201 }, { status: 201, body: { author_id: 4 } }] },
    changes: ['users', 'posts'],
  },
]

const failing: readonly Scenario[] = [
  {
    ...post,
    name: 'an error in the last operation rolls back the whole batch',
    body: {
      operations: [create, { method: 'DELETE', path: '/posts/1' }, { method: 'GET', path: '/posts/999' }],
    },
    status: 404,
    has: {
      error: {
        code: 'NOT_FOUND',
        message: /^operations\[2\]: /,
        details: [{ field: 'operations[2]', code: 'not_found' }],
      },
    },
  },
  {
    ...post,
    name: 'a deleted item is not found by a later operation',
    body: {
      operations: [
        { method: 'DELETE', path: '/posts/1' },
        { method: 'PATCH', path: '/posts/1', body: { title: 'x' } },
      ],
    },
    status: 404,
    has: { error: { details: [{ field: 'operations[1]' }] } },
  },
  {
    ...post,
    name: 'an invalid body is reported with the index of its operation',
    body: { operations: [create, { method: 'POST', path: '/posts', body: { title: 7, extra: 1 } }] },
    status: 400,
    has: {
      error: {
        code: 'VALIDATION_FAILED',
        details: [
          { field: 'operations[1].body.title' },
          { field: 'operations[1].body.extra', code: 'unknown_field' },
        ],
      },
    },
  },
  {
    ...post,
    name: 'a body is validated after its references are resolved',
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'PATCH', path: '/posts/1', body: { title: '$a.id' } },
      ],
    },
    status: 400,
    has: fault('operations[1].body.title'),
  },
  {
    ...post,
    name: 'a reference to a missing item is refused',
    as: admin,
    body: { operations: [{ method: 'PATCH', path: '/posts/1', body: { author_id: 999 } }] },
    status: 400,
    has: fault('operations[0].body.author_id', 'not_found'),
  },
  {
    ...post,
    name: 'a row rule is enforced for each operation',
    as: ben,
    body: { operations: [create, { method: 'PATCH', path: '/posts/1', body: { title: 'x' } }] },
    status: 403,
    has: { error: { code: 'FORBIDDEN', details: [{ field: 'operations[1]', code: 'forbidden' }] } },
  },
  {
    ...post,
    name: 'a scope is required for each operation',
    as: reader,
    body: { operations: [{ method: 'GET', path: '/posts/1' }, create] },
    status: 403,
    sends: { 'WWW-Authenticate': /write:post/ },
    has: { error: { code: 'INSUFFICIENT_SCOPE', details: [{ field: 'operations[1]' }] } },
  },
  {
    ...post,
    name: 'anonymous callers cannot write',
    as: nobody,
    body: { operations: [create] },
    status: 401,
    sends: { 'WWW-Authenticate': /Bearer/ },
    has: { error: { code: 'UNAUTHORIZED', details: [{ field: 'operations[0]' }] } },
  },
  {
    ...post,
    name: 'anonymous callers have no account of their own',
    as: nobody,
    body: { operations: [{ method: 'GET', path: '/me' }] },
    status: 401,
  },
  {
    ...post,
    name: 'an entity tag that does not match rolls back the batch',
    body: { operations: [create, { method: 'DELETE', path: '/posts/1', if_match: '"old"' }] },
    status: 412,
    has: { error: { code: 'PRECONDITION_FAILED', details: [{ field: 'operations[1]' }] } },
  },
  {
    ...post,
    name: 'a unique value that an earlier operation took is refused',
    as: admin,
    body: {
      operations: [
        { method: 'POST', path: '/users', body: { name: 'Cy', email: 'cy@example.com' } },
        { method: 'POST', path: '/users', body: { name: 'Di', email: 'cy@example.com' } },
      ],
    },
    status: 409,
    has: { error: { code: 'CONFLICT', details: [{ field: 'operations[1].body.email', code: 'taken' }] } },
  },
  {
    ...post,
    name: 'an unknown parameter is refused',
    body: { operations: [create, { method: 'GET', path: '/posts?colour=red' }] },
    status: 400,
    has: {
      error: { code: 'BAD_REQUEST', details: [{ field: 'operations[1].colour', code: 'unknown_parameter' }] },
    },
  },
  {
    ...post,
    name: 'a credential in a path is refused and not repeated',
    body: { operations: [{ method: 'GET', path: '/posts?api_key=pk_secret' }] },
    status: 400,
    lacks: ['pk_secret'],
  },
  ...['/api_keys', '/oauth_apps'].map(path => ({
    ...post,
    name: `a batch cannot create items that carry a secret: ${path}`,
    body: { operations: [{ method: 'POST', path, body: { name: 'x' } }] },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /separate request/ } },
  })),
  {
    ...post,
    name: 'an e-mail address that must be confirmed cannot be set',
    body: { operations: [{ method: 'PATCH', path: '/users/2', body: { email: 'new@example.com' } }] },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /confirmed/ } },
  },
  {
    ...post,
    name: 'an e-mail address that must be confirmed cannot be set by a reference',
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'PATCH', path: '/users/2', body: { email: '$a.title' } },
      ],
    },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /confirmed/ } },
  },
  ...[
    '/batch',
    '/openapi.json',
    '/nothing',
    '/posts/x',
    '/posts/1/author',
    '/posts/1/comments/2',
    '/posts/01',
  ].map(path => ({
    ...post,
    name: `a batch refuses the path ${path}`,
    body: {
      operations: [
        { method: path === '/batch' ? 'POST' : 'GET', path, ...(path === '/batch' && { body: {} }) },
      ],
    },
    status: path === '/batch' ? 400 : 404,
    has: { error: { details: [{ field: 'operations[0]' }] } },
  })),
  {
    ...post,
    name: 'a method that the path does not support is refused',
    body: { operations: [{ method: 'PUT', path: '/posts', body: {} }] },
    status: 405,
    sends: { Allow: 'GET, HEAD, POST, OPTIONS' },
  },
  {
    ...post,
    name: 'a bulk create inside a batch is refused',
    body: { operations: [{ method: 'POST', path: '/posts', body: [{ title: 'x' }] }] },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /bulk/ } },
  },
]

const paths: readonly (readonly [path: unknown, field?: string])[] = [
  ['posts'],
  [''],
  ['/'],
  ['//posts'],
  ['/posts/'],
  ['/posts//1'],
  ['/./posts'],
  ['/posts/../users'],
  ['/posts/%2e%2e/users'],
  ['/posts%2f1'],
  ['/posts\\1'],
  ['/posts;a=1/1'],
  ['/posts#1'],
  ['/pösts'],
  ['/posts?title=ö'],
  ['/posts /1'],
  ['/posts\n'],
  ['http://example.com/posts'],
  ['//example.com/posts'],
  ['/api/v1/posts'],
  ['/api/v1'],
  [7],
  [null],
  [`/${'a'.repeat(8000)}`],
]

const forms: readonly Scenario[] = [
  ...paths.map(([path]) => ({
    ...post,
    name: `the path ${JSON.stringify(path)?.slice(0, 40)} is refused`,
    body: { operations: [create, { method: 'GET', path }] },
    status: 400,
    has: fault('operations[1].path'),
  })),
  ...['get', 'HEAD', 'OPTIONS', 'TRACE', '', 7, null, undefined].map(method => ({
    ...post,
    name: `the method ${JSON.stringify(method)} is refused`,
    body: { operations: [{ method, path: '/posts' }] },
    status: 400,
    has: fault('operations[0].method', 'not_a_choice'),
  })),
  ...[null, 7, 'GET /posts', ['GET', '/posts']].map(operation => ({
    ...post,
    name: `the operation ${JSON.stringify(operation)} is refused`,
    body: { operations: [operation] },
    status: 400,
    has: fault('operations[0]', 'wrong_type'),
  })),
  ...[
    {},
    { operations: {} },
    { operations: [] },
    [],
    [create],
    7,
    null,
    { operations: [create], atomic: true },
  ].map(body => ({
    ...post,
    name: `the body ${JSON.stringify(body)} is refused`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /operations/ } },
  })),
  {
    ...post,
    name: 'a hundred and one operations are refused',
    body: { operations: Array.from({ length: 101 }, () => create) },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /101.*100/ } },
  },
  {
    ...post,
    name: 'all malformed operations are reported at once',
    body: {
      operations: [
        { method: 'GET', path: '/posts', body: {} },
        { method: 'POST', path: '/posts', if_match: '*', headers: {} },
        { method: 'DELETE', path: '/posts/1', if_match: 7, as: '1' },
        { method: 'DELETE', path: '/posts/1', as: 'a' },
        { method: 'DELETE', path: '/posts/1', as: 'a' },
      ],
    },
    status: 400,
    has: {
      error: {
        code: 'VALIDATION_FAILED',
        message: /^The batch has 7 faults\. operations\[0\]\.body: /,
        details: [
          { field: 'operations[0].body', code: 'not_allowed' },
          { field: 'operations[1].headers', code: 'unknown_field' },
          { field: 'operations[1].body', code: 'required' },
          { field: 'operations[1].if_match', code: 'not_allowed' },
          { field: 'operations[2].if_match', code: 'wrong_type' },
          { field: 'operations[2].as', code: 'bad_format' },
          { field: 'operations[4].as', code: 'taken' },
        ],
      },
    },
  },
  ...['__proto__', 'constructor', 'toString'].map(name => ({
    ...post,
    name: `a reference to ${name} is refused when no operation has that name`,
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'GET', path: `/posts/$${name}.id` },
      ],
    },
    status: 400,
    has: fault('operations[1].path', 'unknown_reference'),
  })),
  ...['__proto__', 'constructor', 'colour', 'hasOwnProperty'].map(member => ({
    ...post,
    name: `a reference to the member ${member} is refused`,
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'GET', path: `/posts/$a.${member}` },
      ],
    },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', details: [{ field: 'operations[1]', code: 'bad_request' }] } },
  })),
  {
    ...post,
    name: 'a reference to a value that is not an id is refused in a path',
    body: {
      operations: [
        { ...create, as: 'a' },
        { method: 'GET', path: '/posts/$a.title' },
      ],
    },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /not an id/ } },
  },
  {
    ...post,
    name: 'a reference to a list is refused',
    body: {
      operations: [
        { method: 'GET', path: '/posts', as: 'a' },
        { method: 'PATCH', path: '/posts/1', body: { title: '$a.data' } },
      ],
    },
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /data/ } },
  },
  {
    ...post,
    name: 'a reference to a deleted item is refused',
    body: {
      operations: [
        { method: 'DELETE', path: '/posts/3', as: 'a' },
        { method: 'GET', path: '/posts/$a.id' },
      ],
    },
    status: 400,
  },
  {
    ...post,
    name: 'references to later operations and to the operation itself are refused',
    body: {
      operations: [
        { method: 'PATCH', path: '/posts/$b.id', body: { title: '$c.title' } },
        { method: 'GET', path: '/posts/$b.id', as: 'b' },
      ],
    },
    status: 400,
    has: {
      error: {
        code: 'VALIDATION_FAILED',
        details: [
          { field: 'operations[0].path', code: 'unknown_reference', message: /later/ },
          { field: 'operations[0].body', code: 'unknown_reference', message: /no operation.*\$\$/ },
          { field: 'operations[1].path', code: 'unknown_reference' },
        ],
      },
    },
  },
  {
    ...post,
    name: '__proto__ in a body is an unknown field',
    headers: { 'content-type': 'application/json' },
    body: '{"operations":[{"method":"POST","path":"/posts","body":{"title":"x","__proto__":{"body":"y"}}}]}',
    status: 400,
    has: fault('operations[0].body.__proto__', 'unknown_field'),
  },
  {
    ...post,
    name: '__proto__ in an operation is an unknown member',
    headers: { 'content-type': 'application/json' },
    body: '{"operations":[{"path":"/posts","__proto__":{"method":"GET"}}]}',
    status: 400,
    has: { error: { details: [{ field: 'operations[0].__proto__' }, { field: 'operations[0].method' }] } },
  },
  {
    ...post,
    name: 'a body nested too deeply is refused',
    headers: { 'content-type': 'application/json' },
    body: `{"operations":[{"method":"POST","path":"/posts","body":${'['.repeat(40)}${']'.repeat(40)}}]}`,
    status: 400,
    has: { error: { message: /too deep/ } },
  },
  {
    ...post,
    name: 'the batch itself takes no parameters',
    url: '/api/v1/batch?fields=id',
    body: { operations: [create] },
    status: 400,
    has: { error: { details: [{ field: 'fields' }] } },
  },
  { ...post, name: 'a batch refuses GET', method: 'GET', status: 405, sends: { Allow: 'POST, OPTIONS' } },
  {
    ...post,
    name: 'OPTIONS of the batch names its methods',
    method: 'OPTIONS',
    status: 204,
    sends: { Allow: 'POST, OPTIONS' },
  },
  {
    ...post,
    name: 'a batch must be JSON',
    headers: { 'content-type': 'text/plain' },
    body: '{"operations":[]}',
    status: 415,
  },
]

export function batchContract(open: OpenHarness): void {
  runScenarios(checkModel(blog), open, seedBlog, [...working, ...failing, ...forms])
}
