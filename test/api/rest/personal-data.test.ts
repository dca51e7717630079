/** Who gets the data of a person, where it depends on the time. The rest is tested with accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import tracker from '../../../examples/tracker/model.ts'
import { Exports } from '../../../src/api/rest/export/export.ts'
import { answerPersonalData } from '../../../src/api/rest/personal-data.ts'
import { findRoute, type RouteOf } from '../../../src/api/rest/routes.ts'
import type { StreamedBody } from '../../../src/base/call.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { toCall } from '../contract/rest/harness.ts'

const route = findRoute(checkModel(tracker), '/api/v1/users/2/personal_data') as RouteOf<'personalData'>
const call = toCall({ url: '/api/v1/users/2/personal_data?reason=asked' })
const admin = user(1, 'admin', 'all')

/** Two pages of one row each. */
function answer(principal: Principal) {
  let page = 0
  const services = {
    exports: new Exports({}),
    personalData: () => ({
      isSized: true,
      next: async () => ({ rows: [{ page }], isLast: page === 1, advance: () => void page++ }),
    }),
  }
  return answerPersonalData(services as never, route, call, principal)
}

test('a session whose sign-in is not recent gets nothing, whoever it belongs to', async () => {
  for (const principal of [user(2, 'user', 'all'), admin]) {
    await assert.rejects(answer({ ...principal, signedInAt: Date.now() - 16 * 60_000 }), {
      code: 'FORBIDDEN',
    })
    assert.equal((await answer({ ...principal, signedInAt: Date.now() - 14 * 60_000 })).status, 200)
  }
})

test('who is no administrator any more gets no further page of the data of others', async () => {
  const { body } = await answer(admin)
  const stream = body as StreamedBody & AsyncIterator<string> & { changePrincipal(to: Principal): void }
  assert.deepEqual(await stream.next(), { value: '{"page":0}\n', done: false })
  stream.changePrincipal(user(1, 'user', 'all'))
  await assert.rejects(stream.next(), { code: 'FORBIDDEN' })
})

test('items that the person may not read are paid for, too', async () => {
  const drawn: number[] = []
  let page = 0
  const services = {
    exports: new Exports({ draw: async (_call, _principal, requests) => void drawn.push(requests) }),
    personalData: () => ({
      isSized: true,
      next: async () => ({ rows: [], examined: 100, isLast: page === 9, advance: () => void page++ }),
    }),
  }
  const { body } = await answerPersonalData(services as never, route, call, admin)
  for await (const _ of body as AsyncIterable<string>);
  const paid = drawn.reduce((sum, requests) => sum + requests, 0)
  assert.ok(paid * 100 >= 9 * 100, `${paid}`)
})
