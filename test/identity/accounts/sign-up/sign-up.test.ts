/** Signing up, and confirming that an address is one’s own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Records } from '../../../../src/base/records.ts'
import { type AccountBase, claimsReader } from '../../../../src/identity/accounts/accounts.ts'
import { createAddresses } from '../../../../src/identity/accounts/addresses/addresses.ts'
import {
  addressToConfirm,
  sendConfirmation,
} from '../../../../src/identity/accounts/addresses/verification.ts'
import { finishSignUp, pendingSignUp, signUp } from '../../../../src/identity/accounts/sign-up/sign-up.ts'
import { findByEmail, findUser } from '../../../../src/identity/accounts/users.ts'
import { confirms, minuteMs, withFixture } from '../fixture.ts'

const password = 'correct horse battery'
const account = { name: ' Ada Lovelace ', email: 'Ada@Example.com', password, address: '192.0.2.1' }

test('open: the account exists at once, with the default role and an unconfirmed address', async () => {
  await withFixture({ signUp: 'open' }, async ({ base, sent, token }) => {
    assert.deepEqual(await signUp(base, account), { kind: 'ready' })
    const user = await findByEmail(base.run, 'ada@example.com')
    assert.ok(user)
    assert.equal(user.name, 'Ada Lovelace')
    assert.equal(user?.role, 'user')
    assert.match(user?.password_hash ?? '', /^\$argon2id\$/)
    const claims = claimsReader(base.run, base.records)
    const expected = { name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
    assert.deepEqual(await claims(user.id), expected)
    const link = await token()
    assert.equal(sent.length, 1)
    assert.equal((await addressToConfirm(base, link))?.email, 'ada@example.com')
    assert.equal(await confirms(base, link, user.id + 1), false)
    assert.equal(await confirms(base, link, user.id), true)
    assert.equal(await confirms(base, link, user.id), false)
    assert.deepEqual(await claims(user.id), { ...expected, emailVerified: true })
    assert.equal(await claims(user.id + 1), undefined)
  })
})

test('open: a known address gets the same response after as many commits; its owner is notified', async () => {
  await withFixture({ signUp: 'open' }, async ({ base, user, sent }) => {
    const id = await user('ada@example.com', 'the first password')
    const before = await findUser(base.run, id)
    const commits: number[] = []
    const counted = counting(base)
    for (const email of ['ada@example.com', 'new@example.com', 'other@example.com', 'Ada@Example.com']) {
      const from = counted.writes()
      assert.deepEqual(await signUp(counted.base, { ...account, email }), { kind: 'ready' })
      commits.push(counted.writes() - from)
    }
    assert.deepEqual(commits, [1, 1, 1, 1])
    assert.deepEqual(await findUser(base.run, id), before)
    await base.idle()
    const texts = sent.filter(({ to }) => to === 'ada@example.com').map(({ text }) => text)
    assert.equal(texts.length, 2)
    for (const text of texts)
      assert.match(text, /which already has an account.*account\/sign-in.*account\/reset/s)
  })
})

/** Counts the commits that a response waits for. */
function counting(base: AccountBase) {
  let writes = 0
  const { run } = base
  const records = new Proxy<Records>(base.records, {
    get(target, name: keyof Records) {
      if (name === 'put') writes++
      return target[name].bind(target)
    },
  })
  const write: typeof run.write = async (...args) => {
    const answer = await run.write(...args)
    // A refused write is rolled back without a commit.
    writes++
    return answer
  }
  const addresses = createAddresses(records, base.now)
  return { base: { ...base, records, addresses, run: { ...run, write } }, writes: () => writes }
}

test('of concurrent sign-ups with one address, only one succeeds', async () => {
  await withFixture({ signUp: 'open' }, async ({ base, sent }) => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => signUp(base, { ...account, address: `192.0.2.${at}` })),
    )
    assert.deepEqual(new Set(answers.map(({ kind }) => kind)), new Set(['ready']))
    await base.idle()
    assert.equal(sent.filter(({ text }) => text.includes('verify?token=')).length, 1)
    assert.equal(sent.filter(({ text }) => text.includes('which already has an account')).length, 7)
  })
})

test('confirmed: every address gets the same response', async () => {
  await withFixture({ signUp: 'confirmed' }, async ({ base, user, sent }) => {
    await user('known@example.com', 'the first password')
    for (const email of [account.email, 'known@example.com']) {
      const answer = await signUp(base, { ...account, email })
      assert.ok(answer.kind === 'sent')
      const { again, ...others } = answer
      assert.deepEqual(others, { kind: 'sent', email: email.toLowerCase() })
      assert.match(again, /^[\w-]{43}$/)
    }
    await base.idle()
    assert.equal(await findByEmail(base.run, 'ada@example.com'), undefined)
    const texts = new Map(sent.map(({ to, text }) => [to, text]))
    assert.match(texts.get('ada@example.com') ?? '', /verify\?account=/)
    assert.doesNotMatch(texts.get('known@example.com') ?? '', /verify/)
  })
})

test('confirmed: the link creates the account, once, within a day', async () => {
  await withFixture({ signUp: 'confirmed' }, async ({ base, token, advance }) => {
    await signUp(base, account)
    const link = await token()
    assert.equal((await pendingSignUp(base, link))?.email, 'ada@example.com')
    const finish = () => finishSignUp(base, link, password, '192.0.2.1')
    const answers = await Promise.all(Array.from({ length: 6 }, finish))
    const [created, ...more] = answers.filter(answer => answer.kind === 'created')
    assert.deepEqual(more, [])
    const user = await findByEmail(base.run, 'ada@example.com')
    assert.ok(user)
    assert.equal(created?.userId, user.id)
    assert.equal(await base.addresses.isVerified(user.id, 'ada@example.com'), true)
    await signUp(base, { ...account, email: 'late@example.com' })
    const late = await token()
    advance(24 * 60 * minuteMs)
    assert.deepEqual(await finishSignUp(base, late, password, '192.0.2.1'), { kind: 'over' })
  })
})

test('confirmed: receiving the mail is not enough to create the account', async () => {
  await withFixture({ signUp: 'confirmed' }, async ({ base, token }) => {
    await signUp(base, account)
    const link = await token()
    for (let count = 0; count < 10; count++) {
      const answer = await finishSignUp(base, link, 'what the other chose', '192.0.2.1')
      assert.deepEqual(answer, { kind: 'wrong' })
    }
    assert.equal((await finishSignUp(base, link, password, '192.0.2.1')).kind, 'throttled')
    assert.equal(await findByEmail(base.run, 'ada@example.com'), undefined)
    assert.equal((await finishSignUp(base, link, password, '198.51.100.7')).kind, 'created')
  })
})

test('confirmed: an address that was taken in the meantime gets no second account', async () => {
  await withFixture({ signUp: 'confirmed' }, async ({ base, token, user }) => {
    await signUp(base, account)
    const link = await token()
    await user('ada@example.com', password)
    assert.deepEqual(await finishSignUp(base, link, password, '192.0.2.1'), { kind: 'over' })
  })
})

test('all faults are reported at once, by their fields', async () => {
  await withFixture({}, async ({ base }) => {
    const cases = [
      [{ name: ' ', email: 'no address', password: 'short' }, ['name', 'email', 'password']],
      [{ name: 'x'.repeat(101) }, ['name']],
      [{ email: 'ada@localhost' }, ['email']],
      [{ email: 'a@example.com, b@example.com' }, ['email']],
      [{ email: 'ada@example.com\r\nBcc: eve@example.com' }, ['email']],
      [{ password: 'aaaaaaaaaaaa' }, ['password']],
      [{ password: 'ababababab' }, ['password']],
      [{ password: '1234567890' }, ['password']],
      [{ password: 'Qwertyuiop1!' }, ['password']],
      [{ password: 'ADA@EXAMPLE.COM' }, ['password']],
    ] as const
    for (const [args, fields] of cases) {
      const answer = await signUp(base, { ...account, ...args })
      assert.ok(answer.kind === 'faults', JSON.stringify(args))
      assert.deepEqual([...answer.faults.keys()], fields)
      for (const message of answer.faults.values()) assert.match(String(message), /^[A-Z].*\.$/)
    }
  })
})

test('passwords in any script are accepted, and their length is counted in characters', async () => {
  await withFixture({}, async ({ base }) => {
    const long = `${'🦊'.repeat(3)}wald und wiese`
    const created = await signUp(base, { ...account, password: long })
    assert.equal(created.kind, 'ready')
    const nine = await signUp(base, { ...account, email: 'b@example.com', password: '🦊🐻🐼🐨🐯🦁🐮🐷🐸' })
    assert.equal(nine.kind, 'faults')
  })
})

test('off: nobody can sign up', async () => {
  await withFixture({ signUp: 'off' }, async ({ base }) => {
    await assert.rejects(signUp(base, account), { code: 'NOT_FOUND' })
  })
})

test('signing up is throttled', async () => {
  await withFixture({ signUp: 'confirmed' }, async ({ base, sent }) => {
    for (let count = 0; count < 3; count++) assert.equal((await signUp(base, account)).kind, 'sent')
    assert.deepEqual(await signUp(base, account), { kind: 'throttled', seconds: 900 })
    await base.idle()
    assert.equal(sent.length, 3)
  })
})

test('a link confirms the address it was sent to, not the account’s current one', async () => {
  await withFixture({ signUp: 'open' }, async ({ base, user, token }) => {
    const id = await user('new@example.com', password)
    await sendConfirmation(base, id, 'old@example.com')
    assert.equal(await confirms(base, await token(), id), false)
    assert.equal(await base.addresses.isVerified(id, 'new@example.com'), false)
  })
})
