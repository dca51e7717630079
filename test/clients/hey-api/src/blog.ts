/** Posts, by nothing but the functions and types that hey-api has made. */
import { client } from './blog-api/client.gen.js'
import type { ErrorResponse, Post } from './blog-api/index.js'
import {
  aggregatePosts,
  createPost,
  deletePost,
  getPost,
  listPosts,
  listPostsOfUser,
  replacePost,
  updatePost,
} from './blog-api/index.js'
import { SERVICE, TOKEN, write } from './environment.js'

// As `filter` and `more_filters` are sent.
const querySerializer = { object: { style: 'form', explode: true } } as const
client.setConfig({ baseUrl: SERVICE, auth: TOKEN, querySerializer })

function given<T>({ data, error }: { data?: T; error?: ErrorResponse }): T {
  if (data === undefined) throw new Error(error?.error.message)
  return data
}

const titles = (posts: readonly Post[]): string[] => posts.map(({ title }) => title)

const post: Post = given(await createPost({ body: { title: 'Hello' } }))
const path = { id: post.id }
const read = given(await getPost({ path, query: { include: 'author' } }))
const { data: listed, meta } = given(
  await listPosts({ query: { filter: { 'title[contains]': 'ell', 'created_at[gte]': post.created_at } } }),
)
const equal = given(await listPosts({ query: { filter: { title: 'Hello' } } }))
const byAuthor = { 'author.role': 'admin', 'not[title]': 'Other' }
const related = given(await listPosts({ query: { more_filters: byAuthor } }))
const recent = { 'id[gte]': '1', 'author.role[eq]': 'admin' }
const counted = given(await aggregatePosts({ query: { filter: recent } }))
const updated = given(await updatePost({ path, body: { title: 'Hello again', body: 'Much' } }))
const replaced = given(await replacePost({ path, body: { title: 'New', author_id: post.author_id } }))
const ofAuthor = given(await listPostsOfUser({ path: { id: post.author_id } }))
const deleted = await deletePost({ path })
const gone = await getPost({ path })
write({
  created: [post.title, post.body, read.author?.name],
  listed: [titles(listed), meta.total],
  equal: titles(equal.data),
  related: titles(related.data),
  counted: counted.data[0]?.count,
  updated: [updated.title, updated.body],
  replaced: [replaced.title, replaced.body],
  ofAuthor: titles(ofAuthor.data),
  deleted: deleted.response?.status,
  gone: [gone.response?.status, gone.error?.error.code],
})
