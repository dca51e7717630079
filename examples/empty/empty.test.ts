/** Tests of the product on a service in memory, with its own clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testService } from 'portico/test'
import empty from './model.ts'

test('lets users change their own account, and shows accounts to nobody who is not signed in', async () => {
  const service = await testService(empty)
  const ada = await service.users.create({ name: 'Ada' })
  const ben = await service.users.create({ name: 'Ben' })
  assert.equal((await service.as(ada).users.update(ada.id, { name: 'Ada L.' })).name, 'Ada L.')
  await assert.rejects(service.as(ben).users.update(ada.id, { name: 'No' }), { code: 'FORBIDDEN' })
  await assert.rejects(service.anonymous.users.list(), { code: 'UNAUTHORIZED' })
  await service.close()
})
