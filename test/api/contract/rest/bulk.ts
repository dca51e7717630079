/** POST of an array creates all of its items or none. */
import { checkModel } from '../../../../src/model/check/check.ts'
import blog from '../../../models/blog.ts'
import { admin, ann, nobody, posts, seedBlog } from './blog.ts'
import type { OpenHarness } from './harness.ts'
import { runScenarios, type Scenario } from './scenario.ts'

const post = { method: 'POST', url: '/api/v1/posts', as: ann } as const
const titles = (count: number) => Array.from({ length: count }, (_, index) => ({ title: `Item ${index}` }))

const rows: readonly Scenario[] = [
  {
    ...post,
    name: 'the items of an array are created in order',
    body: [{ title: 'One' }, { title: 'Two', body: 'b' }, { title: 'Three' }],
    status: 201,
    sends: { Location: null, ETag: null, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    has: {
      data: [
        { id: posts + 1, title: 'One', body: null, author_id: 2 },
        { id: posts + 2, title: 'Two', body: 'b' },
        { id: posts + 3, title: 'Three' },
      ],
    },
    changes: ['posts'],
  },
  {
    ...post,
    name: 'a thousand items are accepted',
    body: titles(1000),
    url: '/api/v1/posts?fields=id',
    status: 201,
    has: { data: Array.from({ length: 1000 }, (_, index) => ({ id: posts + 1 + index, title: undefined })) },
    changes: ['posts'],
  },
  {
    ...post,
    name: 'more than a thousand items are refused',
    body: titles(1001),
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /1,001 items.*1,000/ } },
  },
  {
    ...post,
    name: 'an empty array is refused',
    body: [],
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /empty/ } },
  },
  {
    ...post,
    name: 'the errors of all items are reported at once, by index',
    body: [{ title: 'fine' }, {}, { title: 7, extra: 1 }, 'text', [], null],
    status: 400,
    has: {
      error: {
        code: 'VALIDATION_FAILED',
        message: /^The array has 6 faults\. \[1\]\.title: /,
        details: [
          { field: '[1].title', code: 'required' },
          { field: '[2].title' },
          { field: '[2].extra', code: 'unknown_field' },
          { field: '[3]' },
          { field: '[4]' },
          { field: '[5]' },
        ],
      },
    },
  },
  {
    ...post,
    name: 'an error found by the database rolls back all items and names the index',
    as: admin,
    body: [{ title: 'One' }, { title: 'Two' }, { title: 'Three', author_id: 999 }],
    status: 400,
    has: { error: { code: 'VALIDATION_FAILED', details: [{ field: '[2].author_id', code: 'not_found' }] } },
  },
  {
    ...post,
    name: 'a rule that forbids one item refuses all of them',
    body: [{ title: 'mine' }, { title: 'not mine', author_id: 3 }],
    status: 403,
    has: {
      error: { code: 'FORBIDDEN', message: /^\[1\]: /, details: [{ field: '[1]', code: 'forbidden' }] },
    },
  },
  { ...post, name: 'anonymous callers cannot create items', as: nobody, body: [{ title: 'x' }], status: 401 },
  {
    ...post,
    name: 'a duplicate member name is refused',
    body: '[{"title":"a","title":"b"}]',
    headers: { 'content-type': 'application/json' },
    status: 400,
    has: { error: { message: /\/0\/title/ } },
  },
  {
    ...post,
    name: '__proto__ is an unknown field',
    body: '[{"title":"a","__proto__":{"title":"b"}}]',
    headers: { 'content-type': 'application/json' },
    status: 400,
    has: { error: { details: [{ field: '[0].__proto__', code: 'unknown_field' }] } },
  },
  {
    ...post,
    name: 'an administrator creates several accounts',
    url: '/api/v1/users',
    as: admin,
    body: [
      { name: 'Cy', email: 'cy@example.com' },
      { name: 'Di', email: 'di@example.com' },
    ],
    status: 201,
    has: { data: [{ name: 'Cy' }, { name: 'Di' }] },
    changes: ['users'],
  },
  {
    ...post,
    name: 'an e-mail address that is taken rolls back all items',
    url: '/api/v1/users',
    as: admin,
    body: [
      { name: 'Cy', email: 'cy@example.com' },
      { name: 'Di', email: 'cy@example.com' },
    ],
    status: 409,
    has: { error: { code: 'CONFLICT', details: [{ field: '[1].email', code: 'taken' }] } },
  },
  {
    ...post,
    name: 'items that carry a secret are created one at a time',
    url: '/api/v1/api_keys',
    body: [{ name: 'k' }],
    status: 400,
    has: { error: { code: 'BAD_REQUEST', message: /separate request/ } },
  },
  {
    ...post,
    name: 'PATCH refuses an array',
    method: 'PATCH',
    url: '/api/v1/posts/1',
    body: [{ title: 'x' }],
    status: 400,
  },
  {
    ...post,
    name: 'PUT refuses an array',
    method: 'PUT',
    url: '/api/v1/posts/1',
    body: [{ title: 'x' }],
    status: 400,
  },
]

export function bulkContract(open: OpenHarness): void {
  runScenarios(checkModel(blog), open, seedBlog, rows)
}
