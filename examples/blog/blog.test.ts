/** Tests of the blog on a service in memory, with its own clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testService } from 'portico/test'
import blog from './model.ts'

test('shows posts to anyone, and lets only their author change them', async () => {
  const service = await testService(blog, { now: '2026-05-04T09:00:00Z' })
  const ada = await service.users.create({ name: 'Ada' })
  const ben = await service.users.create({ name: 'Ben' })
  const post = await service.as(ada).posts.create({ title: 'Hello' })
  assert.equal(post.author_id, ada.id)
  assert.equal(post.created_at, '2026-05-04T09:00:00.000Z')
  assert.equal(await service.anonymous.posts.count(), 1)
  await assert.rejects(service.anonymous.posts.create({ title: 'No' }), { code: 'UNAUTHORIZED' })
  await assert.rejects(service.as(ben).posts.update(post.id, { title: 'No' }), { code: 'FORBIDDEN' })
  assert.equal((await service.as(ada).posts.update(post.id, { title: 'Hello, again' })).title, 'Hello, again')
  await service.close()
})

test('lets an administrator delete posts of other users', async () => {
  const service = await testService(blog)
  const ada = await service.users.create({ name: 'Ada' })
  const admin = await service.users.create({ name: 'Zoe', role: 'admin' })
  const post = await service.as(ada).posts.create({ title: 'Hello' })
  await service.as(admin).posts.delete(post.id)
  assert.equal(await service.anonymous.posts.count(), 0)
  await service.close()
})
