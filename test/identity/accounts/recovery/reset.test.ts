/** Password resets and changes, and the credentials that they revoke. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { system } from '../../../../src/base/principal.ts'
import { updateShape } from '../../../../src/engine/plan/system-plans.ts'
import { confirmAddress, sendConfirmation } from '../../../../src/identity/accounts/addresses/verification.ts'
import {
  canReset,
  changePassword,
  requestReset,
  reset,
  setFirstPassword,
} from '../../../../src/identity/accounts/recovery/reset.ts'
import { signInByPassword } from '../../../../src/identity/accounts/sign-in/sign-in.ts'
import { signUp } from '../../../../src/identity/accounts/sign-up/sign-up.ts'
import { findByEmail, findUser } from '../../../../src/identity/accounts/users.ts'
import { keysOf } from '../../../../src/identity/keys/user-keys.ts'
import { hashPassword, verifyPassword } from '../../../../src/identity/password.ts'
import { confirms, type Fixture, minuteMs, storePasswordHash, withFixture } from '../fixture.ts'

const email = 'ada@example.com'
const address = '192.0.2.1'
const old = 'correct horse battery'
const fresh = 'a staple in the meadow'

async function kindOf({ base }: Fixture, password: string, by = email): Promise<string> {
  return (await signInByPassword(base, { email: by, password, remember: false, address })).kind
}

async function setEmail({ base }: Fixture, id: number, to: string): Promise<void> {
  const set = [{ field: 'email', param: 1 }]
  const select = [{ kind: 'field', key: 'id', field: 'id' }] as const
  await base.run.write(
    {
      shape: { kind: 'update', mode: 'merge', collection: 'users', id: 0, set, ifMatch: undefined, select },
      args: [id, to],
    },
    system,
  )
}

test('a link sets a new password once, and ends every session', async () => {
  await withFixture({}, async fixture => {
    const { base, user, sent, revoked, token } = fixture
    const id = await user(email, old)
    assert.equal(await requestReset(base, 'ADA@example.com', address), undefined)
    const link = await token()
    assert.deepEqual(
      sent.map(({ to }) => to),
      [email],
    )
    assert.ok(sent[0]?.text.includes(`https://id.example.com/account/reset?token=${link}`))
    assert.equal(await canReset(base, link), true)
    assert.deepEqual(await reset(base, link, 'short'), {
      kind: 'fault',
      field: 'password',
      message: 'Enter at least 10 characters.',
    })
    assert.equal(revoked.length, 0)
    assert.equal((await reset(base, link, fresh)).kind, 'done')
    assert.deepEqual([...new Set(revoked.map(String))], [`${id},`])
    assert.deepEqual(await reset(base, link, 'another good password'), { kind: 'over' })
    assert.equal(await kindOf(fixture, old), 'wrong')
    assert.equal(await kindOf(fixture, fresh), 'authenticated')
    assert.equal(await base.addresses.isVerified(id, email), true)
  })
})

test('of concurrent uses of a link, only one sets the password', async () => {
  await withFixture({}, async ({ base, user, token }) => {
    await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => reset(base, link, `${fresh} ${at}`)),
    )
    assert.equal(answers.filter(({ kind }) => kind === 'done').length, 1)
  })
})

test('a link works again after a request that was refused because of load', async () => {
  await withFixture({}, async ({ base, user, token }) => {
    await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    const cheap = `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
    const queue = Promise.allSettled(Array.from({ length: 210 }, () => verifyPassword('x', cheap)))
    await assert.rejects(reset(base, link, fresh), { code: 'UNAVAILABLE' })
    await queue
    assert.equal((await reset(base, link, fresh)).kind, 'done')
  })
})

test('a link works for an hour, and no other token works in its place', async () => {
  await withFixture({}, async ({ base, user, token, advance }) => {
    const id = await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    await sendConfirmation(base, id, email)
    const confirmation = await token()
    assert.notEqual(confirmation, link)
    assert.equal(await canReset(base, confirmation), false)
    advance(60 * minuteMs - 1)
    assert.equal(await canReset(base, link), true)
    advance(1)
    assert.equal(await canReset(base, link), false)
    assert.deepEqual(await reset(base, link, fresh), { kind: 'over' })
    for (const wrong of ['', 'x', '__proto__', `${link}A`]) assert.equal(await canReset(base, wrong), false)
  })
})

test('the link is stored as a hash only', async () => {
  await withFixture({}, async ({ base, user, token }) => {
    await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    const stored = JSON.stringify(await base.records.all('PasswordReset'))
    assert.ok(stored.includes(email))
    assert.ok(!stored.includes(link))
  })
})

test('an unknown address gets the same response but no mail; frequent requests are throttled for both', async () => {
  await withFixture({}, async ({ base, user, sent }) => {
    await user(email, old)
    for (const requested of [email, 'nobody@example.com']) {
      for (let count = 0; count < 3; count++)
        assert.equal(await requestReset(base, requested, address), undefined)
      assert.equal(await requestReset(base, requested, address), 900)
    }
    await base.idle()
    assert.deepEqual(new Set(sent.map(({ to }) => to)), new Set([email]))
    assert.equal(sent.length, 3)
  })
})

test('a new password invalidates the other links', async () => {
  await withFixture({}, async ({ base, user, token }) => {
    await user(email, old)
    await requestReset(base, email, address)
    const first = await token()
    await requestReset(base, email, address)
    const second = await token()
    assert.notEqual(first, second)
    assert.equal((await reset(base, second, fresh)).kind, 'done')
    assert.deepEqual(await reset(base, first, 'yet another password'), { kind: 'over' })
  })
})

test('a changed address cannot reset the password of an account before it is confirmed', async () => {
  await withFixture({}, async fixture => {
    const { base, user, sent, token } = fixture
    const id = await user(email, old)
    assert.equal(await kindOf(fixture, old), 'authenticated')
    await setEmail(fixture, id, 'mallory@example.com')
    await requestReset(base, 'mallory@example.com', address)
    await base.idle()
    assert.deepEqual(sent, [])
    await sendConfirmation(base, id, 'mallory@example.com')
    assert.equal(await confirms(base, await token(), id), true)
    await requestReset(base, 'mallory@example.com', address)
    assert.equal(await canReset(base, await token()), true)
  })
})

test('a link is invalid once the account has another address', async () => {
  await withFixture({}, async fixture => {
    const { base, user, token } = fixture
    const id = await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    await setEmail(fixture, id, 'new@example.com')
    assert.deepEqual(await reset(base, link, fresh), { kind: 'over' })
  })
})

test('a reset removes every credential that a stranger has prepared in an account with the owner’s address', async () => {
  await withFixture({}, async fixture => {
    const { base, key, token, advance } = fixture
    assert.equal((await signUp(base, { name: 'Mallory', email, password: old, address })).kind, 'ready')
    const created = await findByEmail(base.run, email)
    assert.ok(created)
    await key(created.id)
    const owner = String(created.id)
    await base.records.put({ kind: 'Passkey', id: 'p', payload: '{}', expiresAt: null, owner })
    await base.codes.start(created.id, email, 'Example')
    const keys = () => keysOf(base.run, created.id)
    assert.notDeepEqual(await keys(), [])
    // Age does not protect them.
    advance(30 * 24 * 60 * minuteMs)
    await requestReset(base, email, address)
    assert.equal((await reset(base, await token(), fresh)).kind, 'done')
    assert.deepEqual(await base.records.byOwner('Passkey', owner), [])
    assert.deepEqual(await base.records.byOwner('Totp', owner), [])
    assert.deepEqual(await keys(), [])
  })
})

test('a reset revokes passkeys and keys of a confirmed account too, but one-time codes only if they are younger than a week', async () => {
  for (const [age, stays] of [
    [7 * 24 * 60 * minuteMs, true],
    [7 * 24 * 60 * minuteMs - 1, false],
  ] as const) {
    await withFixture({}, async fixture => {
      const { base, user, key, token, advance } = fixture
      const id = await user(email, old)
      const owner = String(id)
      await key(id)
      await sendConfirmation(base, id, email)
      assert.equal(await confirms(base, await token(), id), true)
      await base.records.put({ kind: 'Passkey', id: 'p', payload: '{}', expiresAt: null, owner })
      const { secret } = await base.codes.start(id, email, 'Example')
      const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: base.now() })
      assert.ok(await base.codes.confirm(id, code))
      advance(age)
      await requestReset(base, email, address)
      const done = await reset(base, await token(), fresh)
      assert.ok(done.kind === 'done')
      const { ended, left } = done.outcome
      assert.deepEqual([ended.passkeys, ended.keys, ended.codes], [1, 1, !stays])
      assert.deepEqual([left.passkeys, left.keys, left.codes], [0, 0, stays])
      assert.equal((await base.records.byOwner('Passkey', owner)).length, 0)
      assert.equal(await base.codes.isOn(id), stays)
      assert.equal(await base.codes.recoveryCodesLeft(id), stays ? 10 : 0)
      assert.deepEqual(await keysOf(base.run, id), [])
    })
  }
})

test('changing the password requires the old one, and keeps the current session', async () => {
  await withFixture({}, async fixture => {
    const { base, user, revoked } = fixture
    const userId = await user(email, old)
    const change = { userId, current: old, password: fresh, address, session: 'this one', keys: false }
    const faults = [
      await changePassword(base, { ...change, current: 'wrong' }),
      await changePassword(base, { ...change, password: email }),
      await changePassword(base, { ...change, password: 'Password1234' }),
      await changePassword(base, { ...change, password: 'x'.repeat(257) }),
    ]
    assert.deepEqual(
      faults.map(fault => (fault.kind === 'fault' ? fault.field : fault.kind)),
      ['current_password', 'new_password', 'new_password', 'new_password'],
    )
    assert.equal(revoked.length, 0)
    assert.equal((await changePassword(base, change)).kind, 'done')
    assert.deepEqual([...new Set(revoked.map(String))], [`${userId},this one`])
    assert.equal(await kindOf(fixture, old), 'wrong')
    assert.equal(await kindOf(fixture, fresh), 'authenticated')
  })
})

test('undeliverable mail is reported to the operator, not to the client', async () => {
  await withFixture({ mailFails: true }, async ({ base, user, faults }) => {
    await user(email, old)
    assert.equal(await requestReset(base, email, address), undefined)
    await base.idle()
    assert.equal(faults.length, 1)
  })
})

test('the old password cannot replace one that a concurrent reset has set', async () => {
  await withFixture({}, async ({ base, user, revoked }) => {
    const userId = await user(email, old)
    const owners = await hashPassword('the owner has set this')
    // Enough work to keep the change queued.
    const busy = Array.from({ length: 8 }, () => verifyPassword('x', undefined))
    const stolen = {
      userId,
      current: old,
      password: 'what a thief would like',
      address: '192.0.2.1',
      session: 's',
      keys: true,
    }
    const change = changePassword(base, stolen)
    await storePasswordHash(base.run, userId, owners)
    assert.notEqual((await change).kind, 'done')
    await Promise.all(busy)
    assert.equal((await findUser(base.run, userId))?.password_hash, owners)
    assert.deepEqual(revoked, [])
  })
})

test('the old password cannot replace one that a reset sets after the old one was verified', async () => {
  await withFixture({}, async ({ base, user, revoked }) => {
    const userId = await user(email, old)
    const owners = await hashPassword('the owner has set this')
    let meanwhile: Promise<unknown> = Promise.resolve()
    const attempts = {
      ...base.attempts,
      // The old password was right. Enough work to keep the new one queued.
      succeed(account: string, from: string) {
        base.attempts.succeed(account, from)
        const busy = Array.from({ length: 8 }, () => verifyPassword('x', undefined))
        meanwhile = Promise.all([storePasswordHash(base.run, userId, owners), ...busy])
      },
    }
    const stolen = {
      userId,
      current: old,
      password: 'what a thief would like',
      address,
      session: 's',
      keys: false,
    }
    assert.deepEqual(await changePassword({ ...base, attempts }, stolen), { kind: 'over' })
    await meanwhile
    assert.equal((await findUser(base.run, userId))?.password_hash, owners)
    assert.deepEqual(revoked, [])
  })
})

for (const keys of [false, true]) {
  test(`the old password cannot replace one that a reset sets while credentials are revoked (keys: ${keys})`, async () => {
    await withFixture({}, async ({ base, user, key, sent }) => {
      const userId = await user(email, old)
      const owners = await hashPassword('the owner has set this')
      const revokeAll: typeof base.revokeAll = async (id, except) => {
        await base.revokeAll(id, except)
        await storePasswordHash(base.run, userId, owners)
        // The owner’s key, created after the reset.
        if ((await keysOf(base.run, userId)).length === 0) await key(userId)
        await base.tokens.issue('PasswordReset', { userId, email }, { owner: String(userId) })
      }
      const stolen = {
        userId,
        current: old,
        password: 'what a thief would like',
        address,
        session: 's',
        keys,
      }
      assert.deepEqual(await changePassword({ ...base, revokeAll }, stolen), { kind: 'over' })
      assert.equal((await findUser(base.run, userId))?.password_hash, owners)
      assert.equal((await keysOf(base.run, userId)).length, 1)
      assert.equal((await base.records.byOwner('PasswordReset', String(userId))).length, 1)
      assert.equal(await base.records.get('AccountEnd', String(userId)), undefined)
      await base.idle()
      assert.deepEqual(sent, [])
    })
  })
}

test('a first password does not replace one that is set concurrently', async () => {
  await withFixture({}, async ({ base, user, sent }) => {
    const userId = await user(email, old)
    const withoutPassword = updateShape('users', ['password_hash'])
    await base.run.write({ shape: withoutPassword, args: [userId, null] }, system)
    const account = await findUser(base.run, userId)
    assert.ok(account)
    const owners = await hashPassword('the owner has set this')
    const isStillSignedIn = async () => {
      await storePasswordHash(base.run, userId, owners)
      return true
    }
    assert.match(
      (await setFirstPassword(base, account, fresh, isStillSignedIn)) ?? '',
      /have a password already/,
    )
    assert.equal((await findUser(base.run, userId))?.password_hash, owners)
    await base.idle()
    assert.deepEqual(sent, [])
  })
})

test('a link does not set a password if the account gets another address while it is used', async () => {
  await withFixture({}, async fixture => {
    const { base, user, token } = fixture
    const userId = await user(email, old)
    await requestReset(base, email, address)
    const link = await token()
    const revokeAll: typeof base.revokeAll = async () => setEmail(fixture, userId, 'new@example.com')
    assert.deepEqual(await reset({ ...base, revokeAll }, link, fresh), { kind: 'over' })
    assert.equal(await kindOf(fixture, old, 'new@example.com'), 'authenticated')
  })
})

test('the old password does not confirm a new address once a concurrent reset has set another password', async () => {
  await withFixture({}, async ({ base, user, sent }) => {
    const userId = await user(email, old)
    const owners = await hashPassword('the owner has set this')
    const thiefsAddress = 'thief@example.com'
    await base.addresses.setPending(userId, thiefsAddress)
    const claimed = { userId, email: thiefsAddress, isNew: true }
    const token = await base.tokens.issue('AddressVerification', claimed, { owner: String(userId) })
    const addresses = {
      ...base.addresses,
      async assignedRecord(id: number, assigned: string) {
        const record = await base.addresses.assignedRecord(id, assigned)
        await storePasswordHash(base.run, userId, owners)
        return record
      },
    }
    const by = { token, userId, session: 's', password: old, hasRecentSignIn: true, address }
    assert.deepEqual(await confirmAddress({ ...base, addresses }, by), { kind: 'over' })
    assert.equal((await findUser(base.run, userId))?.email, email)
    await base.idle()
    assert.deepEqual(sent, [])
  })
})
