/** A keyed request that sets a password, sent again after a crash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ActionServices, answerBuiltinAction } from '../../../src/api/rest/actions/answer.ts'
import type { Call } from '../../../src/base/call.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { findUser } from '../../../src/identity/accounts/users.ts'
import { createUser } from '../../../src/identity/bootstrap.ts'
import { builtinActions } from '../../../src/model/builtin/actions.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { administrationActions } from '../../../src/server/serve/transports/administration.ts'
import { cheapHash } from '../../identity/cheap-hash.ts'
import blog from '../../models/blog.ts'
import { databaseKinds } from '../store/databases.ts'
import { idempotencyOf } from './of-store.ts'

const model = checkModel(blog)
const collection = model.collections.get('users') ?? assert.fail()
const action = builtinActions.get('users')?.find(({ name }) => name === 'set_password') ?? assert.fail()

for (const { name, within } of databaseKinds) {
  test(`a password that was set before a crash is not set again by the retry, which is replayed (${name})`, async () => {
    await within(async database => {
      const store = await database.open(model)
      const died = Promise.withResolvers<void>()
      let dies = true
      const inner = createRun(createGuard(model), store)
      const run: Run = {
        ...inner,
        async transaction(program) {
          const result = await inner.transaction(program)
          if (!dies || program.serial?.writes?.includes('users') !== true) return result
          died.resolve()
          return new Promise(() => {})
        },
      }
      const parts = { run, records: store.records, sessionSeconds: 1000 }
      const services = { model, run, actions: administrationActions(parts) } as unknown as ActionServices
      const admin = user(1000, 'admin', 'all')
      try {
        const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a password', cheapHash)
        const call = {
          method: 'POST',
          path: `/api/v1/users/${id}/set_password`,
          query: '',
          headers: { 'idempotency-key': 'once', 'content-type': 'application/json' },
          body: Buffer.from('{"password":"a staple in the meadow"}'),
        } as unknown as Call
        const route = { kind: 'builtinAction', collection, id, action, within: undefined } as const
        const send = () =>
          idempotencyOf(store, run).answer(call, admin, attempt =>
            answerBuiltinAction(services, route, call, admin, attempt),
          )
        const hash = async () => (await findUser(run, id))?.password_hash
        const before = await hash()
        void send()
        await died.promise
        dies = false
        const after = await hash()
        assert.notEqual(after, before)
        const { status, headers } = await send()
        assert.deepEqual([status, headers.includes('Idempotent-Replayed')], [204, true])
        assert.equal(await hash(), after)
      } finally {
        await store.close()
      }
    })
  })
}
