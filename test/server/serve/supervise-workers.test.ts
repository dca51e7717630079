/** `data` in the thread that starts the workers, when its own database cannot be opened or closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { action, model as declared, users } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { OpenService } from '../../../src/server/serve/service.ts'
import { supervisedService } from '../../../src/server/serve/supervise-workers.ts'
import blog from '../../models/blog.ts'

const blogModel = checkModel(blog)

/** A service whose workers record their closing; `open`: what happens at each attempt to open the database. */
function supervised(open: () => Promise<unknown>, model = blogModel) {
  const closed: string[] = []
  const workers = {
    url: 'http://localhost:3000',
    firstAdministrator: undefined,
    close: async () => void closed.push('workers'),
  }
  const service = supervisedService(workers, model, open as () => Promise<OpenService>)
  return { service, closed }
}

test('a database that cannot be opened is retried, and does not prevent the workers from closing', async () => {
  let tries = 0
  const { service, closed } = supervised(async () => {
    tries++
    throw new Error('away')
  })
  for (const expected of [1, 2]) {
    await assert.rejects(async () => service.data.posts?.count(), /away/)
    assert.equal(tries, expected)
  }
  const pending = assert.rejects(async () => service.data.posts?.count(), /away/)
  await service.close()
  await pending
  assert.deepEqual(closed, ['workers'])
})

test('the workers are closed even if the database of this thread cannot be', async () => {
  const own = {
    data: { posts: { count: async () => 3 } },
    close: async () => Promise.reject(new Error('stuck')),
  }
  const { service, closed } = supervised(async () => ({ service: own }))
  assert.equal(await service.data.posts?.count(), 3)
  await assert.rejects(service.close(), /stuck/)
  assert.deepEqual(closed, ['workers'])
})

test('nothing is opened after the service has closed', async () => {
  const { service } = supervised(async () => assert.fail('it was opened'))
  await service.close()
  await assert.rejects(async () => service.data.posts?.count(), /The service is closed/)
})

test('actions are those of the database of this thread', async () => {
  const actions = { book: async (...args: number[]) => args }
  const own = {
    actions: { ...actions, as: (user: number) => ({ book: async () => user }) },
    close: async () => {},
  }
  const booking = checkModel(declared({ users: users() }, { actions: { book: action({ run: () => {} }) } }))
  const { service } = supervised(async () => ({ service: own }), booking)
  assert.deepEqual(await service.actions['book']?.(1, 2), [1, 2])
  assert.equal(await service.actions.as(7)['book']?.(), 7)
  await service.close()
})
