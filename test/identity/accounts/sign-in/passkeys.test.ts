/** Passkeys of an authenticator in software. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Records } from '../../../../src/base/records.ts'
import { createPasskeys } from '../../../../src/identity/accounts/sign-in/passkeys.ts'
import { type Fixture, withFixture } from '../fixture.ts'
import { softPasskey, softRegistration } from './soft-authenticator.ts'

const issuer = 'https://id.example.com'
const userId = 7

async function authenticator({ base }: Fixture, records: Records = base.records) {
  const { record, assertion } = softPasskey(issuer, userId, base.now())
  await base.records.put(record)
  const passkeys = createPasskeys({
    records,
    tokens: base.tokens,
    issuer,
    rpName: 'Example',
    now: base.now,
  })
  const answer = async (counter: number) => {
    const { challenge } = (await passkeys.requestOptions()) as { challenge: string }
    const proof = await passkeys.verify(assertion(challenge, counter), async () => 7)
    if (proof !== undefined) assert.equal(proof.at, 7)
    return proof?.userId
  }
  return { passkeys, answer, id: record.id }
}

test('an authenticator signs its owner in, unless its counter has decreased', async () => {
  await withFixture({}, async fixture => {
    const { answer, passkeys } = await authenticator(fixture)
    assert.equal(await answer(5), userId)
    assert.equal(await answer(6), userId)
    assert.equal(await answer(4), undefined)
    assert.equal((await passkeys.list(userId)).length, 1)
  })
})

test('a passkey that is removed during a sign-in is not stored again', async () => {
  await withFixture({}, async fixture => {
    const { records } = fixture.base
    let remove = async (): Promise<unknown> => undefined
    const watched = new Proxy(records, {
      get(target, name: keyof Records) {
        if (name !== 'get') return target[name].bind(target)
        return async (kind: string, id: string) => {
          const found = await target.get(kind, id)
          await remove()
          return found
        }
      },
    })
    const { answer, passkeys, id } = await authenticator(fixture, watched)
    remove = () => records.delete('Passkey', id)
    await answer(2)
    assert.deepEqual(await passkeys.list(userId), [])
  })
})

test('concurrent requests add at most 20 passkeys', async () => {
  await withFixture({}, async fixture => {
    const { passkeys } = await authenticator(fixture)
    const add = async () => {
      const owner = { userId, email: 'ada@example.com', name: 'Ada' }
      const { challenge } = (await passkeys.creationOptions(owner)) as { challenge: string }
      const response = softRegistration(issuer, challenge)
      return passkeys.add({ userId, session: 's' }, 'A key', response)
    }
    for (let count = 1; count < 19; count++) assert.ok(await add())
    const added = await Promise.all([add(), add(), add(), add()])
    const listed = (await passkeys.list(userId)).map(({ id }) => id)
    assert.ok(listed.length <= 20, `${listed.length} passkeys`)
    for (const id of added) assert.ok(id === undefined || listed.includes(id))
    while (await add());
    assert.equal((await passkeys.list(userId)).length, 20)
  })
})
