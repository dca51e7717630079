/** The credentials that a password change revokes, and those that the first confirmation of an address revokes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  replacePassword,
  revokeBeforeProof,
} from '../../../../src/identity/accounts/recovery/account-recovery.ts'
import { signInByPassword } from '../../../../src/identity/accounts/sign-in/sign-in.ts'
import { keysOf } from '../../../../src/identity/keys/user-keys.ts'
import { hashPassword } from '../../../../src/identity/password.ts'
import { isEndedWithAccount, signInTime } from '../../../../src/identity/server/sessions/session-ends.ts'
import { type Fixture, withFixture } from '../fixture.ts'

const email = 'ada@example.com'
const password = 'correct horse battery'

/** Stores a record of the user as another feature would. */
async function putRecord(
  { base }: Fixture,
  kind: string,
  userId: number,
  payload: object,
  id = 'left',
): Promise<void> {
  const owner = String(userId)
  await base.records.put({ kind, id, payload: JSON.stringify(payload), expiresAt: null, owner })
}

async function idsOf({ base }: Fixture, kind: string, userId: number): Promise<readonly string[]> {
  return (await base.records.byOwner(kind, String(userId))).map(({ id }) => id)
}

test('a new password ends everything that was started with the old password or address', async () => {
  await withFixture({}, async fixture => {
    const { base, user } = fixture
    const id = await user(email, password)
    const begun = [
      'PasswordReset',
      'SecondFactor',
      'AddressVerification',
      'PendingAddress',
      'PasskeyChallenge',
    ]
    for (const kind of begun) await putRecord(fixture, kind, id, {})
    const secrets = (await base.devices.remember([], id)) ?? []
    assert.ok(await base.devices.find(secrets, id))
    const before = await signInTime(base.records, id, base.now())
    const extent = { keys: false, passkeys: false, codes: false }
    await replacePassword(base, id, await hashPassword('a staple in the meadow'), extent)
    for (const kind of begun) assert.deepEqual(await idsOf(fixture, kind, id), [], kind)
    assert.equal(await base.devices.find(secrets, id), undefined)
    assert.ok(
      (await signInTime(base.records, id, base.now())) > before,
      'the current second is later than any sign-in in progress',
    )
  })
})

test('a sign-in with the old password ends even if the new one took longer than a second to be stored', async () => {
  await withFixture({}, async ({ base, user, advance }) => {
    const id = await user(email, password)
    const attempt = { email, password, remember: false, address: '192.0.2.1' }
    let signedInAt = 0
    const slow: typeof base.run = {
      ...base.run,
      async transaction(program) {
        if (program.serial?.writes?.includes('users')) {
          advance(1000)
          const answer = await signInByPassword(base, attempt)
          assert.ok(answer.kind === 'authenticated')
          signedInAt = answer.at
          advance(1000)
        }
        return base.run.transaction(program)
      },
    }
    const extent = { exceptSession: 'kept', keys: false, passkeys: false, codes: false }
    const hashed = await hashPassword('a staple in the meadow')
    await replacePassword({ ...base, run: slow }, id, hashed, extent)
    const isEnded = (session: string) => isEndedWithAccount(base.records, String(id), session, signedInAt)
    assert.equal(await isEnded('of the old password'), true)
    assert.equal(await isEnded('kept'), false)
    const again = await signInByPassword(base, { ...attempt, password: 'a staple in the meadow' })
    assert.ok(again.kind === 'authenticated' && again.at > signedInAt)
    assert.equal(await isEndedWithAccount(base.records, String(id), 'new', again.at), false)
  })
})

test('an API key created while the password is replaced is revoked too if API keys are revoked', async () => {
  for (const [keys, left] of [
    [true, 0],
    [false, 1],
  ] as const) {
    await withFixture({}, async ({ base, user, key }) => {
      const id = await user(email, password)
      let revocations = 0
      const revokeAll = async () => {
        // The second call comes after the commit of the password.
        if (++revocations === 2) await key(id)
      }
      const extent = { keys, passkeys: false, codes: false }
      await replacePassword({ ...base, revokeAll }, id, await hashPassword('a staple in the meadow'), extent)
      assert.equal((await keysOf(base.run, id)).length, left)
    })
  }
})

test('the first confirmation of an address ends what other sessions created, and keeps what its own session created', async () => {
  for (const [session, left] of [
    ['own', 1],
    ['foreign', 0],
  ] as const) {
    await withFixture({}, async fixture => {
      const { base, user, key } = fixture
      const id = await user(email, password)
      await putRecord(fixture, 'Passkey', id, { session: 'own' }, 'own')
      await putRecord(fixture, 'Passkey', id, { session: 'foreign' }, 'foreign')
      await putRecord(fixture, 'Passkey', id, {}, 'of no session')
      await putRecord(fixture, 'Totp', id, { session })
      await putRecord(fixture, 'RecoveryCode', id, {})
      await putRecord(fixture, 'SecondFactor', id, {})
      const secrets = (await base.devices.remember([], id)) ?? []
      await key(id)
      await revokeBeforeProof(base, id, 'own')
      assert.deepEqual(await idsOf(fixture, 'Passkey', id), ['own'])
      for (const kind of ['Totp', 'RecoveryCode']) {
        assert.equal((await idsOf(fixture, kind, id)).length, left, `${kind} of the ${session} session`)
      }
      assert.deepEqual(await idsOf(fixture, 'SecondFactor', id), [])
      assert.equal(await base.devices.find(secrets, id), undefined)
      assert.deepEqual(await keysOf(base.run, id), [])
    })
  }
})
