/** One-time codes and recovery codes: each belongs to one user and works once, one-time codes only in their period. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { forwarding } from '../../../../src/base/records.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { createOneTimeCodes } from '../../../../src/identity/accounts/sign-in/one-time-codes.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createUsers } from '../../../engine/store/blog.ts'
import blog from '../../../models/blog.ts'

const start = Date.parse('2026-01-01T00:00:00Z')
const periodMs = 30_000

type Codes = ReturnType<typeof createOneTimeCodes>

async function withCodes(use: (codes: Codes, time: { at: number }) => Promise<void>): Promise<void> {
  const time = { at: start }
  const store = openSqlite(checkModel(blog), { file: ':memory:', now: () => time.at })
  await createUsers(store, 2)
  try {
    await use(
      createOneTimeCodes(store.records, () => time.at),
      time,
    )
  } finally {
    await store.close()
  }
}

/** The code that the user’s device shows. */
function shown(secret: string, at: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret), period: 30 }).generate({ timestamp: at })
}

/** Turns codes on with the code of the previous period, so that the current one stays unused. */
async function turnedOn(codes: Codes, user: number, at: number) {
  const { secret } = await codes.start(user, 'ann@example.com', 'Blog')
  const recovery = await codes.confirm(user, shown(secret, at - periodMs))
  return { secret, recovery: recovery ?? assert.fail('the code is wrong') }
}

test('a code works once, and only within one period before and after its own', () =>
  withCodes(async (codes, time) => {
    const { secret } = await turnedOn(codes, 1, time.at)
    const code = shown(secret, start + 2 * periodMs)
    assert.equal(await codes.check(1, code), false, 'two periods too early')
    time.at = start + periodMs
    assert.equal(await codes.check(1, code), true)
    for (const later of [0, 1000, periodMs, 2 * periodMs - 1]) {
      time.at = start + periodMs + later
      assert.equal(await codes.check(1, code), false, `${later} ms later`)
    }
    const late = shown(secret, start + 10 * periodMs)
    time.at = start + 12 * periodMs
    assert.equal(await codes.check(1, late), false, 'two periods too late')
  }))

test('an enrolment that starts while codes are turned on does not turn them off', () =>
  withCodes(async (codes, time) => {
    const { secret } = await turnedOn(codes, 1, time.at)
    await assert.rejects(codes.start(1, 'ann@example.com', 'Blog'), /turned on already/)
    assert.equal(await codes.isOn(1), true)
    assert.equal(await codes.check(1, shown(secret, start)), true)
    await codes.turnOff(1)
    assert.notEqual((await codes.start(1, 'ann@example.com', 'Blog')).secret, secret)
  }))

test('codes that are turned off, or started again, during their confirmation are not turned on', async () => {
  for (const change of ['turnOff', 'start'] as const) {
    const store = openSqlite(checkModel(blog), { file: ':memory:', now: () => start })
    await createUsers(store, 1)
    const codes = createOneTimeCodes(store.records, () => start)
    const { secret } = await codes.start(1, 'ann@example.com', 'Blog')
    const add: typeof store.records.add = async record => {
      await codes[change](1, 'ann@example.com', 'Blog')
      return store.records.add(record)
    }
    const slow = createOneTimeCodes({ ...forwarding(store.records), add }, () => start)
    assert.equal(await slow.confirm(1, shown(secret, start)), undefined, change)
    assert.equal(await codes.isOn(1), false, change)
    await store.close()
  }
})

test('two users can use codes of the same period', () =>
  withCodes(async (codes, time) => {
    const [ann, ben] = [await turnedOn(codes, 1, time.at), await turnedOn(codes, 2, time.at)]
    assert.equal(await codes.check(2, shown(ann.secret, time.at)), false)
    assert.equal(await codes.check(1, shown(ann.secret, time.at)), true)
    assert.equal(await codes.check(2, shown(ben.secret, time.at)), true)
  }))

test('confirming codes again returns no new recovery codes', () =>
  withCodes(async (codes, time) => {
    const { secret } = await codes.start(1, 'ann@example.com', 'Blog')
    assert.equal(await codes.confirm(1, '000000'), undefined)
    assert.equal(await codes.isOn(1), false)
    assert.ok(await codes.confirm(1, shown(secret, time.at)))
    assert.equal(await codes.isOn(1), true)
    time.at += periodMs
    assert.equal(await codes.confirm(1, shown(secret, time.at)), undefined)
    assert.equal(await codes.confirm(2, shown(secret, time.at)), undefined)
  }))

test('before the confirmation, neither codes nor old recovery codes work', () =>
  withCodes(async (codes, time) => {
    const { recovery } = await turnedOn(codes, 1, time.at)
    await codes.turnOff(1)
    const { secret } = await codes.start(1, 'ann@example.com', 'Blog')
    assert.equal(await codes.check(1, shown(secret, time.at)), false)
    assert.equal(await codes.check(1, recovery[0] ?? ''), false)
  }))

test('a recovery code works once, for its own user; new codes replace the old ones', () =>
  withCodes(async (codes, time) => {
    const { recovery } = await turnedOn(codes, 1, time.at)
    const [first = '', second = '', third = ''] = recovery
    await turnedOn(codes, 2, time.at)
    assert.equal(await codes.check(2, first), false)
    const outcomes = await Promise.all([codes.check(1, first), codes.check(1, first), codes.check(1, first)])
    assert.deepEqual(outcomes.toSorted(), [false, false, true])
    assert.equal(await codes.check(1, ` ${second.toUpperCase().replace('-', ' ')} `), true)
    assert.equal(await codes.recoveryCodesLeft(1), 8)
    const fresh = await codes.newRecoveryCodes(1)
    assert.equal(await codes.recoveryCodesLeft(1), 10)
    assert.equal(await codes.check(1, third), false)
    assert.equal(await codes.check(1, fresh[0] ?? ''), true)
  }))

test('of concurrent requests for new recovery codes, the codes of exactly one are valid', () =>
  withCodes(async (codes, time) => {
    await turnedOn(codes, 1, time.at)
    const sets = await Promise.all([1, 2, 3].map(() => codes.newRecoveryCodes(1)))
    assert.equal(await codes.recoveryCodesLeft(1), 10)
    const valid = await Promise.all(sets.map(async ([first = '']) => codes.check(1, first)))
    assert.deepEqual(valid.toSorted(), [false, false, true])
    const rest = sets[valid.indexOf(true)]?.slice(1) ?? []
    for (const code of rest) assert.equal(await codes.check(1, code), true)
    assert.equal(await codes.recoveryCodesLeft(1), 0)
  }))

test('turning codes off removes everything', () =>
  withCodes(async (codes, time) => {
    const { secret, recovery } = await turnedOn(codes, 1, time.at)
    await codes.turnOff(1)
    assert.deepEqual([await codes.isOn(1), await codes.recoveryCodesLeft(1)], [false, 0])
    assert.equal(await codes.check(1, shown(secret, time.at)), false)
    assert.equal(await codes.check(1, recovery[0] ?? ''), false)
  }))
