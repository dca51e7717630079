/** The credentials of connected clients are checked periodically, one check after another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectedClient, CredentialMonitor } from '../../../src/api/events/credential-monitor.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, user } from '../../../src/base/principal.ts'

const ann = user(1, 'user', 'all')

function clientWith(authorization: string) {
  const changes: Principal[] = []
  const ends: ApiError[] = []
  const client: ConnectedClient = {
    credential: { authorization },
    address: '127.0.0.1',
    principal: ann,
    changePrincipal: principal => void changes.push(principal),
    disconnect: error => void ends.push(error),
  }
  return { client, changes, ends }
}

test('no check begins while the previous one waits for the database', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const checks: PromiseWithResolvers<Principal>[] = []
  const identify = () => {
    const check = Promise.withResolvers<Principal>()
    checks.push(check)
    return check.promise
  }
  const monitor = new CredentialMonitor(identify, error => assert.fail(String(error)))
  const { client, ends } = clientWith('Bearer one')
  monitor.add(client)
  t.mock.timers.tick(5000)
  assert.equal(checks.length, 1)
  checks[0]?.resolve(ann)
  await new Promise(resolve => setImmediate(resolve))
  t.mock.timers.tick(500)
  assert.equal(checks.length, 2)
  checks[1]?.reject(new ApiError('UNAUTHORIZED'))
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(ends.length, 1)
  monitor.remove(client)
})

test('a client that leaves during a check is neither changed nor disconnected', async () => {
  const check = Promise.withResolvers<Principal>()
  const monitor = new CredentialMonitor(
    () => check.promise,
    error => assert.fail(String(error)),
  )
  const { client, changes, ends } = clientWith('Bearer one')
  monitor.add(client)
  const checked = monitor.check()
  monitor.remove(client)
  check.resolve(user(2, 'user', 'all'))
  await checked
  assert.deepEqual([changes, ends], [[], []])
})
