/** Posts, by nothing but the types that openapi-typescript has made. */
import createClient from 'openapi-fetch'
import type { components, paths } from './blog-api.js'
import { SERVICE, TOKEN, write } from './environment.js'

type Post = components['schemas']['Post']

const client = createClient<paths, 'application/json'>({
  baseUrl: SERVICE,
  headers: { Authorization: `Bearer ${TOKEN}` },
  // As `filter` and `more_filters` are sent.
  querySerializer: { object: { style: 'form', explode: true } },
})

function given<T>({ data, error }: { data?: T; error?: components['schemas']['ErrorResponse'] }): T {
  if (data === undefined) throw new Error(error?.error.message)
  return data
}

const titles = (posts: readonly Post[]): string[] => posts.map(({ title }) => title)

const post: Post = given(await client.POST('/api/v1/posts', { body: { title: 'Hello' } }))
const at = { path: { id: post.id } }
const read = given(
  await client.GET('/api/v1/posts/{id}', { params: { ...at, query: { include: 'author' } } }),
)
const author = read.author?.name
const filter = { 'title[contains]': 'ell', 'created_at[gte]': post.created_at }
const { data: listed, meta } = given(await client.GET('/api/v1/posts', { params: { query: { filter } } }))
const equal = given(await client.GET('/api/v1/posts', { params: { query: { filter: { title: 'Hello' } } } }))
const byAuthor = { 'author.role': 'admin', 'not[title]': 'Other' }
const related = given(await client.GET('/api/v1/posts', { params: { query: { more_filters: byAuthor } } }))
const recent = { 'id[gte]': '1', 'author.role[eq]': 'admin' }
const counted = given(await client.GET('/api/v1/posts/aggregate', { params: { query: { filter: recent } } }))
const updated = given(
  await client.PATCH('/api/v1/posts/{id}', { params: at, body: { title: 'Hello again', body: 'Much' } }),
)
const replaced = given(
  await client.PUT('/api/v1/posts/{id}', { params: at, body: { title: 'New', author_id: post.author_id } }),
)
const ofAuthor = given(
  await client.GET('/api/v1/users/{id}/posts', { params: { path: { id: post.author_id } } }),
)
const deleted = await client.DELETE('/api/v1/posts/{id}', { params: at })
const gone = await client.GET('/api/v1/posts/{id}', { params: at })
write({
  created: [post.title, post.body, author],
  listed: [titles(listed), meta.total],
  equal: titles(equal.data),
  related: titles(related.data),
  counted: counted.data[0]?.count,
  updated: [updated.title, updated.body],
  replaced: [replaced.title, replaced.body],
  ofAuthor: titles(ofAuthor.data),
  deleted: deleted.response.status,
  gone: [gone.response.status, gone.error?.error.code],
})
