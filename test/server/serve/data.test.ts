/** `data` of a service: access as the service itself, and as users. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { serve } from '../../../src/index.ts'
import blog from '../../models/blog.ts'
import { withService } from './service.ts'

const settings = { port: 0, host: '127.0.0.1', logLevel: 'silent' } as const

test('a program reads and writes as the service, and as a user with their current role', async () => {
  await withService({}, async ({ service: { data }, call, key }) => {
    const ada = await data.users?.create({ name: 'Ada', email: 'ada@example.com' })
    const id = Number(ada?.id)
    const post = await data.as(id).posts?.create({ title: 'Mine' })
    assert.equal(post?.author_id, id)
    assert.equal((await call('/api/v1/posts/1')).json.title, 'Mine')
    const foreign = await data.posts?.create({ title: 'By the service', author_id: 1 })
    const postId = Number(foreign?.id)
    await assert.rejects(async () => data.as({ id }).posts?.update(postId, { title: 'Taken' }), {
      code: 'FORBIDDEN',
    })
    await call(`/api/v1/users/${id}`, { method: 'PATCH', key, body: { role: 'admin' } })
    assert.equal((await data.as(id).posts?.update(postId, { title: 'Taken' }))?.title, 'Taken')
    assert.equal(await data.posts?.count(), 2)
  })
})

test('a transaction as a user has their rules, and is none for a disabled account', async () => {
  await withService({}, async ({ service: { data } }) => {
    const ada = await data.users?.create({ name: 'Ada', email: 'ada@example.com' })
    const id = Number(ada?.id)
    const foreign = await data.posts?.create({ title: 'By the service', author_id: 1 })
    const both = data.as(id).transaction(async own => {
      await own.posts?.create({ title: 'Mine' })
      await own.posts?.update(Number(foreign?.id), { title: 'Taken' })
    })
    await assert.rejects(both, { code: 'FORBIDDEN' })
    assert.equal(await data.posts?.count(), 1)
    const mine = await data.as(id).transaction(async own => own.posts?.create({ title: 'Mine' }))
    assert.equal(mine?.author_id, id)
    await data.users?.update(id, { disabled: true })
    await assert.rejects(
      data.as(id).transaction(() => undefined),
      { code: 'FORBIDDEN' },
    )
  })
})

test('an unknown user is NOT_FOUND, whatever value is passed', async () => {
  await withService({}, async ({ service: { data } }) => {
    for (const id of [99, 0, -1, 1.5, Number.NaN, '1', null, undefined])
      await assert.rejects(async () => data.as(id as number).posts?.list(), { code: 'NOT_FOUND' }, String(id))
  })
})

test('secrets can be neither read nor written', async () => {
  await withService({}, async ({ service: { data } }) => {
    const [user] = (await data.users?.list()) ?? []
    assert.ok(user && !('password_hash' in user))
    await assert.rejects(async () => data.users?.update(1, { password_hash: 'x' }), {
      code: 'VALIDATION_FAILED',
    })
    await assert.rejects(async () => data.api_keys?.create({ name: 'x' }), { code: 'BAD_REQUEST' })
  })
})

test('with several workers, the starting thread has data and no handler', async () => {
  await withService(
    { workers: 2, model: resolve(import.meta.dirname, '../../../examples/blog/model.ts') },
    async ({ service, call, key }) => {
      const created = await service.data.posts?.create({ title: 'Second', author_id: 1 })
      assert.equal((await call(`/api/v1/posts/${created?.id}`)).json.title, 'Second')
      const { id } = (await service.data.users?.create({ name: 'Ada', email: 'ada@example.com' })) ?? {}
      const edit = (title: string) =>
        service.data.as(Number(id)).posts?.update(Number(created?.id), { title })
      await assert.rejects(async () => edit('Taken'), { code: 'FORBIDDEN' })
      const body = { role: 'admin' }
      assert.equal((await call(`/api/v1/users/${id}`, { method: 'PATCH', key, body })).status, 200)
      assert.equal((await edit('As an administrator'))?.title, 'As an administrator')
      assert.throws(() => service.handler(undefined as never, undefined as never), /`workers` to 1/)
    },
  )
})

test('the data of the package is typed by the model', async () => {
  await withService({}, async ({ file }) => {
    const service = await serve(blog, { ...settings, database: `${file}.other` })
    const { id, title } = await service.data.posts.create({ title: 'Typed', author_id: 1 })
    assert.equal(title, 'Typed')
    assert.equal((await service.data.as(1).posts.get(id))?.author_id, 1)
    // @ts-expect-error: no such field
    await assert.rejects(service.data.posts.create({ titel: 'x' }), { code: 'VALIDATION_FAILED' })
    await service.close()
  })
})
