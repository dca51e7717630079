/** Uploads that no item may have: incomplete ones, and those of deleted accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { createPlan } from '../../../src/engine/plan/system-plans.ts'
import { png, withFiles } from '../../api/rest/files/fixture.ts'
import { databaseKinds } from '../store/databases.ts'

for (const kind of databaseKinds) {
  test(`${kind.name}: an upload whose bytes have not all arrived is no file`, () =>
    withFiles(kind, async ({ ok, ada, service, states }) => {
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      const row = { key: 'an-upload-in-progress', name: 'a', user_id: ada.id }
      await service.run.write(createPlan('uploads', {}, row), system)
      const { details } = await ok(
        `PATCH /photos/${id}`,
        { as: ada, body: { note: { upload: row.key } } },
        400,
      ).then(body => body.error ?? body)
      assert.equal(details[0].code, 'not_found')
      assert.deepEqual(await states(), ['pending'])
    }))

  test(`${kind.name}: the unused uploads of a deleted account are deleted with it`, () =>
    withFiles(kind, async ({ ok, bob, ada, service, states }) => {
      await ok('POST /uploads', { as: bob, body: png })
      await ok('POST /uploads', { as: ada, body: png })
      await service.service.data.users?.delete(bob.id)
      assert.deepEqual(await states(), ['deleted', 'pending'])
    }))
}
