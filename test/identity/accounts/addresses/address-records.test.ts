/** An account and the state of its address are written in one transaction: a crash never leaves one without the other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import type { WriteAnswer } from '../../../../src/engine/plan/answer.ts'
import type { Plan, WriteShape } from '../../../../src/engine/plan/plan.ts'
import { createPlan, updateShape } from '../../../../src/engine/plan/system-plans.ts'
import type { AccountBase } from '../../../../src/identity/accounts/accounts.ts'
import { addressChanges } from '../../../../src/identity/accounts/addresses/address-changes.ts'
import { confirmAddress, sendNewAddress } from '../../../../src/identity/accounts/addresses/verification.ts'
import { finishSignUp, signUp } from '../../../../src/identity/accounts/sign-up/sign-up.ts'
import { findByEmail, findUser } from '../../../../src/identity/accounts/users.ts'
import { model, signedIn, users } from '../../../../src/index.ts'
import { type Fixture, withFixture } from '../fixture.ts'

const password = 'correct horse battery'
const account = { name: 'Ada', email: 'ada@example.com', password, address: '192.0.2.1' }

/** Account services whose process crashes as soon as an item write or a transaction with changes is committed. */
function crashing(base: AccountBase): AccountBase {
  const write: typeof base.run.write = async (...args) => {
    await base.run.write(...args)
    throw new Error('crashed')
  }
  const transaction: typeof base.run.transaction = async program => {
    const result = await base.run.transaction(program)
    if (program.snapshot) return result
    throw new Error('crashed')
  }
  return { ...base, run: { ...base.run, write, transaction } }
}

/** Writes an account’s `email` through the API as a user with this role. */
function writer({ base }: Fixture, role: 'admin' | 'user') {
  const { run, records, counters, mail, issuer, background, now } = crashing(base)
  const write = addressChanges({ run, records, counters, mail, issuer: () => issuer, background, now })
  const by = user(1000, role, 'all')
  return (plan: Plan<WriteShape>): Promise<WriteAnswer> => write(plan, by)
}

test('an account created by sign-up is unproven from the start', async () => {
  await withFixture({ signUp: 'open' }, async ({ base }) => {
    await assert.rejects(signUp(crashing(base), account), /crashed/)
    const created = await findByEmail(base.run, account.email)
    assert.equal(await base.addresses.isUnproven(created?.id ?? 0), true)
  })
})

test('an account created by the link of a sign-up is confirmed from the start', async () => {
  await withFixture({ signUp: 'confirmed' }, async fixture => {
    const { base } = fixture
    await signUp(base, account)
    await assert.rejects(
      finishSignUp(crashing(base), await fixture.token(), password, '192.0.2.1'),
      /crashed/,
    )
    const created = await findByEmail(base.run, account.email)
    assert.equal(await base.addresses.isVerified(created?.id ?? 0, account.email), true)
  })
})

test('an account that another user creates through the API is unproven from the start', async () => {
  const declaration = model({ users: users({ access: { create: signedIn } }) })
  await withFixture({ declaration }, async fixture => {
    const { base } = fixture
    const plan = createPlan('users', { name: 'Ben', email: 'ben@example.com' }, {})
    await assert.rejects(writer(fixture, 'user')(plan), /crashed/)
    const created = await findByEmail(base.run, 'ben@example.com')
    assert.equal(await base.addresses.isUnproven(created?.id ?? 0), true)
  })
})

test('links may be sent to an address as soon as an administrator has set it', async () => {
  await withFixture({}, async fixture => {
    const { base } = fixture
    const id = await fixture.user('ada@example.com', password)
    await base.addresses.confirm(id, 'ada@example.com')
    await base.addresses.setPending(id, 'pending@example.com')
    await base.tokens.issue('PasswordReset', {}, { owner: String(id) })
    const plan = { shape: updateShape('users', ['email']), args: [id, 'new@example.com'] }
    await assert.rejects(writer(fixture, 'admin')(plan), /crashed/)
    assert.equal((await findUser(base.run, id))?.email, 'new@example.com')
    assert.equal(await base.addresses.isTrusted(id, 'new@example.com'), true)
    assert.equal(await base.addresses.isVerified(id, 'new@example.com'), false)
    assert.equal(await base.addresses.pending(id), undefined)
    assert.deepEqual(await base.records.byOwner('PasswordReset', String(id)), [])
  })
})

test('links may be sent to an address as soon as its owner has confirmed it', async () => {
  await withFixture({}, async fixture => {
    const { base } = fixture
    const id = await fixture.user('ada@example.com', password)
    await base.addresses.confirm(id, 'ada@example.com')
    await base.addresses.setPending(id, 'new@example.com')
    await sendNewAddress(base, id, 'new@example.com')
    const by = { session: 's', password, hasRecentSignIn: true, address: '192.0.2.1' }
    await assert.rejects(
      confirmAddress(crashing(base), { ...by, userId: id, token: await fixture.token() }),
      /crashed/,
    )
    assert.equal((await findUser(base.run, id))?.email, 'new@example.com')
    assert.equal(await base.addresses.isTrusted(id, 'new@example.com'), true)
  })
})
