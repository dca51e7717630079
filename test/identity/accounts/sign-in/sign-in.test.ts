/** Signing in with a password and a one-time code, and the limits on failed attempts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { requestReset, reset } from '../../../../src/identity/accounts/recovery/reset.ts'
import {
  confirmPassword,
  signInByCode,
  signInByPassword,
} from '../../../../src/identity/accounts/sign-in/sign-in.ts'
import { hashPassword } from '../../../../src/identity/password.ts'
import { type Fixture, minuteMs, storePasswordHash, withFixture } from '../fixture.ts'

const password = 'correct horse battery'
const attempt = { email: 'ada@example.com', password, remember: true, address: '192.0.2.1' }

function codeAt(secret: string, time: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: time })
}

/** A user with one-time codes turned on. */
async function protectedUser({ base, user }: Fixture) {
  const id = await user(attempt.email, password)
  const { secret } = await base.codes.start(id, attempt.email, 'Example')
  const recovery = await base.codes.confirm(id, codeAt(secret, base.now()))
  assert.ok(recovery)
  return { id, secret, recovery }
}

test('the right password signs in, whatever the case of the address', async () => {
  await withFixture({}, async ({ base, user }) => {
    const userId = await user(attempt.email, password)
    const at = Math.floor(base.now() / 1000)
    const proven = { kind: 'authenticated', userId, remember: true, methods: ['pwd'], at }
    assert.deepEqual(await signInByPassword(base, attempt), proven)
    assert.deepEqual(await signInByPassword(base, { ...attempt, email: ' Ada@Example.COM ' }), proven)
  })
})

test('a wrong password, an unknown address and an account without a password get the same response', async () => {
  await withFixture({}, async ({ base, user }) => {
    await user(attempt.email, password)
    for (const tried of [
      { ...attempt, password: `${password} ` },
      { ...attempt, password: password.toUpperCase() },
      { ...attempt, email: 'nobody@example.com' },
      { ...attempt, email: '' },
      { ...attempt, email: "ada@example.com' OR 1=1 --" },
    ]) {
      assert.deepEqual(await signInByPassword(base, tried), { kind: 'wrong' })
    }
  })
})

test('a password that is changed while sign-ins with it are queued signs nobody in', async () => {
  await withFixture({}, async ({ base, user }) => {
    const id = await user(attempt.email, password)
    await storePasswordHash(base.run, id, await hashPassword(password))
    const changed = await hashPassword('another password')
    let isChanged = false
    const signIns = Array.from({ length: 30 }, async (_, at) => {
      const { kind } = await signInByPassword(base, { ...attempt, address: `192.0.2.${at}` })
      return { kind, isLate: isChanged }
    })
    await storePasswordHash(base.run, id, changed)
    isChanged = true
    const late = (await Promise.all(signIns)).filter(({ isLate }) => isLate)
    assert.ok(late.length > 10, `only ${late.length} were late`)
    assert.ok(late.every(({ kind }) => kind === 'wrong'))
  })
})

test('an address gets ten attempts in a window, after which the right password is refused too', async () => {
  await withFixture({}, async ({ base, user, advance }) => {
    await user(attempt.email, password)
    for (const email of [attempt.email, 'nobody@example.com']) {
      for (let count = 0; count < 10; count++) {
        assert.deepEqual(await signInByPassword(base, { ...attempt, email, password: 'wrong' }), {
          kind: 'wrong',
        })
      }
      assert.deepEqual(await signInByPassword(base, { ...attempt, email }), {
        kind: 'throttled',
        seconds: 900,
      })
    }
    const elsewhere = await signInByPassword(base, { ...attempt, address: '198.51.100.7' })
    assert.equal(elsewhere.kind, 'authenticated')
    advance(15 * minuteMs)
    assert.equal((await signInByPassword(base, attempt)).kind, 'authenticated')
  })
})

test('successful sign-ins are never throttled', async () => {
  await withFixture({}, async ({ base, user }) => {
    await user(attempt.email, password)
    for (let count = 0; count < 12; count++) {
      assert.equal((await signInByPassword(base, attempt)).kind, 'authenticated')
    }
  })
})

test('with one-time codes on, the password alone signs nobody in', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { id, secret } = await protectedUser(fixture)
    advance(minuteMs)
    const first = await signInByPassword(base, attempt)
    assert.equal(first.kind, 'second-factor')
    assert.ok('token' in first)
    const right = codeAt(secret, base.now())
    const wrong = right === '000000' ? '000001' : '000000'
    assert.deepEqual(await signInByCode(base, first.token, wrong, { address: '192.0.2.1' }), {
      kind: 'wrong',
    })
    assert.deepEqual(await signInByCode(base, `${first.token}x`, right, { address: '192.0.2.1' }), {
      kind: 'over',
    })
    assert.deepEqual(await signInByCode(base, first.token, right, { address: '192.0.2.1' }), {
      kind: 'authenticated',
      userId: id,
      remember: true,
      methods: ['pwd', 'otp', 'mfa'],
      at: Math.floor(base.now() / 1000),
    })
    assert.deepEqual(await signInByCode(base, first.token, right, { address: '192.0.2.1' }), { kind: 'over' })
  })
})

test('a password change ends a pending second step', async () => {
  await withFixture({}, async fixture => {
    const { base, advance, token } = fixture
    const { secret } = await protectedUser(fixture)
    advance(minuteMs)
    const first = await signInByPassword(base, attempt)
    assert.ok('token' in first)
    await requestReset(base, attempt.email, '192.0.2.1')
    assert.equal((await reset(base, await token(), 'what the owner has set')).kind, 'done')
    const right = codeAt(secret, base.now())
    assert.deepEqual(await signInByCode(base, first.token, right, { address: '192.0.2.1' }), { kind: 'over' })
  })
})

test('a code works once, and only near its period', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { id, secret } = await protectedUser(fixture)
    advance(10 * minuteMs)
    const code = codeAt(secret, base.now())
    const results = await Promise.all(Array.from({ length: 20 }, () => base.codes.check(id, code)))
    assert.equal(results.filter(Boolean).length, 1)
    assert.equal(await base.codes.check(id, codeAt(secret, base.now() - 30_000)), true)
    assert.equal(await base.codes.check(id, codeAt(secret, base.now() - 5 * minuteMs)), false)
    assert.equal(await base.codes.check(id, codeAt(secret, base.now() + 5 * minuteMs)), false)
  })
})

test('guesses of a code are throttled across sign-ins', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { secret } = await protectedUser(fixture)
    advance(minuteMs)
    const right = codeAt(secret, base.now())
    for (let count = 0; count < 10; count++) {
      const first = await signInByPassword(base, attempt)
      assert.ok('token' in first)
      const wrong = String((Number(right) + 1 + count) % 1_000_000).padStart(6, '0')
      assert.deepEqual(await signInByCode(base, first.token, wrong, { address: '192.0.2.1' }), {
        kind: 'wrong',
      })
    }
    const last = await signInByPassword(base, attempt)
    assert.ok('token' in last)
    assert.equal((await signInByCode(base, last.token, right, { address: '192.0.2.1' })).kind, 'throttled')
  })
})

test('a recovery code works once, whatever its case and separators', async () => {
  await withFixture({}, async fixture => {
    const { base } = fixture
    const { id, recovery } = await protectedUser(fixture)
    const [code = ''] = recovery
    assert.equal(new Set(recovery).size, 10)
    assert.equal(await base.codes.check(id + 1, code), false)
    assert.equal(await base.codes.check(id, code.toUpperCase().replace('-', ' ')), true)
    assert.equal(await base.codes.check(id, code), false)
    assert.equal(await base.codes.recoveryCodesLeft(id), 9)
    const fresh = await base.codes.newRecoveryCodes(id)
    assert.equal(await base.codes.check(id, recovery[1] ?? ''), false)
    assert.equal(await base.codes.check(id, fresh[1] ?? ''), true)
  })
})

test('codes are not required before the first correct code, nor after they are turned off', async () => {
  await withFixture({}, async fixture => {
    const { base, user, advance } = fixture
    const id = await user(attempt.email, password)
    const { secret } = await base.codes.start(id, attempt.email, 'Example')
    assert.equal(await base.codes.isOn(id), false)
    assert.equal(await base.codes.check(id, codeAt(secret, base.now())), false)
    assert.equal((await signInByPassword(base, attempt)).kind, 'authenticated')
    assert.equal(await base.codes.confirm(id, '12345'), undefined)
    assert.ok(await base.codes.confirm(id, codeAt(secret, base.now())))
    assert.equal(await base.codes.confirm(id, codeAt(secret, base.now())), undefined)
    assert.equal((await signInByPassword(base, attempt)).kind, 'second-factor')
    await base.codes.turnOff(id)
    advance(minuteMs)
    assert.equal((await signInByPassword(base, attempt)).kind, 'authenticated')
    assert.equal(await base.codes.recoveryCodesLeft(id), 0)
  })
})

test('the second step expires after five minutes', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { secret } = await protectedUser(fixture)
    advance(minuteMs)
    const first = await signInByPassword(base, attempt)
    assert.ok('token' in first)
    advance(5 * minuteMs)
    const code = codeAt(secret, base.now())
    assert.deepEqual(await signInByCode(base, first.token, code, { address: '192.0.2.1' }), { kind: 'over' })
  })
})

test('password confirmations are throttled like sign-ins', async () => {
  await withFixture({}, async ({ base, user }) => {
    const id = await user(attempt.email, password)
    assert.equal(await confirmPassword(base, id, password, { address: '192.0.2.1' }), undefined)
    assert.deepEqual(await confirmPassword(base, id, 'wrong', { address: '192.0.2.1' }), { kind: 'wrong' })
    assert.deepEqual(await confirmPassword(base, id + 1, password, { address: '192.0.2.1' }), {
      kind: 'wrong',
    })
    for (let count = 0; count < 9; count++) await confirmPassword(base, id, 'wrong', { address: '192.0.2.1' })
    assert.equal((await confirmPassword(base, id, password, { address: '192.0.2.1' }))?.kind, 'throttled')
  })
})
