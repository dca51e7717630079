/** Keyed requests that end a session or a grant, sent again after a crash. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActionServices } from '../../../src/api/rest/actions/answer.ts'
import { endSubresource } from '../../../src/api/rest/actions/subresources.ts'
import type { Call } from '../../../src/base/call.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { createUser } from '../../../src/identity/bootstrap.ts'
import { Consents } from '../../../src/identity/server/consent/consents.ts'
import { subresources } from '../../../src/model/builtin/administration.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { accountSubresources } from '../../../src/server/serve/transports/administration.ts'
import { cheapHash } from '../../identity/cheap-hash.ts'
import blog from '../../models/blog.ts'
import { databaseKinds } from '../store/databases.ts'
import { idempotencyOf } from './of-store.ts'

const model = checkModel(blog)
const collection = model.collections.get('users') ?? assert.fail()
const dayMs = 24 * 60 * 60 * 1000

for (const { name, within } of databaseKinds) {
  test(`a session or grant that was ended before a crash is ended with 204 by the retry, which is then replayed (${name})`, async () => {
    await within(async database => {
      const store = await database.open(model)
      const { records } = store
      let crashes = false
      const inner = createRun(createGuard(model), store)
      const run: Run = {
        ...inner,
        async transaction(program) {
          if (crashes) throw new Error('crashed')
          return inner.transaction(program)
        },
      }
      const idempotency = idempotencyOf(store, run)
      const services = {
        ...{ model, run, actions: new Map() },
        subresources: accountSubresources({ run, records, sessionSeconds: 1000 }),
      } as unknown as ActionServices
      const admin = user(1000, 'admin', 'all')

      const end = async (name: string, userId: number, key: string, header: string) => {
        const subresource =
          subresources.get('users')?.find(candidate => candidate.name === name) ?? assert.fail()
        const route = { kind: 'subresource', collection, id: userId, subresource, key } as const
        const path = `/api/v1/users/${userId}/${name}/${key}`
        const headers = { 'idempotency-key': header }
        const call = { method: 'DELETE', path, query: '', headers, body: Buffer.alloc(0) } as unknown as Call
        const reply = await idempotency.answer(call, admin, attempt =>
          endSubresource(services, route, call, admin, attempt),
        )
        return [reply.status, reply.headers.includes('Idempotent-Replayed')]
      }

      try {
        const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a password', cheapHash)
        const owner = String(id)
        const expiresAt = Date.now() + dayMs
        const session = { uid: 'a-session', accountId: owner, loginTs: Math.floor(Date.now() / 1000) }
        const payload = JSON.stringify(session)
        await records.put({ kind: 'Session', id: 'a hash', alias: session.uid, payload, expiresAt, owner })
        const consents = new Consents(records)
        const grant = JSON.stringify({ accountId: owner, clientId: 'tool', iat: session.loginTs })
        const connect = async () => {
          await records.put({ kind: 'Grant', id: 'a grant', payload: grant, expiresAt, owner })
          await consents.noteUser(id, 'tool')
        }
        await connect()
        for (const [name, key] of [
          ['sessions', session.uid],
          ['grants', 'tool'],
        ] as const) {
          crashes = true
          await assert.rejects(end(name, id, key, name), /crashed/)
          crashes = false
          assert.deepEqual(await end(name, id, key, name), [204, false], name)
          assert.deepEqual(await end(name, id, key, name), [204, true], name)
          const isGone = (error: unknown) => error instanceof ApiError && error.code === 'NOT_FOUND'
          await assert.rejects(end(name, id, key, `${name}-again`), isGone, name)
          await assert.rejects(end(name, id, 'unknown', `${name}-unknown`), isGone, name)
        }
        assert.equal(await records.get('Session', 'a hash'), undefined)
        assert.equal(await records.get('Grant', 'a grant'), undefined)
      } finally {
        await store.close()
      }
    })
  })
}
