/** A post, by nothing but the functions and types that openapi-generator has made. */
import { Configuration, PostsApi, ResponseError } from './client'
import { SERVICE, TOKEN, write } from './environment'

async function statusOf(call: Promise<unknown>): Promise<number | undefined> {
  const error = await call.catch((reason: unknown) => reason)
  return error instanceof ResponseError ? error.response.status : undefined
}

async function main(): Promise<void> {
  const posts = new PostsApi(new Configuration({ basePath: SERVICE, accessToken: TOKEN }))
  const created = await posts.createPost({ postCreate: { title: 'One' } })
  const { id } = created
  const updated = await posts.updatePost({ id, postUpdate: { body: 'changed' } })
  const read = await posts.getPost({ id })
  const { data, meta } = await posts.listPosts({ sort: '-id', perPage: 1 })
  await posts.deletePost({ id })
  write({
    created: [created.title, created.body],
    updated: updated.body,
    read: [read.title, read.createdAt.getTime() === created.createdAt.getTime()],
    listed: [data.map(({ title }) => title), meta.total],
    missing: await statusOf(posts.getPost({ id })),
  })
}

void main()
