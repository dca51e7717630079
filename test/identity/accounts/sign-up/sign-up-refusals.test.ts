/** Sign-ups that the model refuses: by a fault of `check`, or by a limit on accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishSignUp, signUp } from '../../../../src/identity/accounts/sign-up/sign-up.ts'
import { findByEmail } from '../../../../src/identity/accounts/users.ts'
import { atMost, model, string, users } from '../../../../src/index.ts'
import { formWith, withFixture as withServer } from '../../conformance/server.ts'
import { withFixture } from '../fixture.ts'

const declaration = model({
  users: users({
    fields: { team: string({ optional: true, signUp: true, max: 20, description: 'Your team' }) },
    check: ({ next }) => {
      if (next.name === 'Nobody') return [{ field: 'name', message: 'Nobody may have an account.' }]
      return next.team === 'closed' ? [{ field: 'team', message: 'takes nobody.' }] : []
    },
    limits: [atMost(1, { per: 'team', message: 'The team is full.' })],
  }),
})

const password = 'correct horse battery'
const ada = { name: 'Ada', email: 'ada@example.com', password, address: '192.0.2.1' }
const team = (name: string) => new Map([['team', name]])

test('open: faults of `check` and exceeded limits are shown on the form, and no mail is sent', async () => {
  await withFixture({ declaration }, async ({ base, sent }) => {
    const faults = async (account: Parameters<typeof signUp>[1]) => {
      const answer = await signUp(base, account)
      return answer.kind === 'faults' ? [...answer.faults] : answer.kind
    }
    assert.deepEqual(await faults({ ...ada, name: 'Nobody', answers: team('red') }), [
      ['name', 'Nobody may have an account.'],
    ])
    assert.deepEqual(await faults({ ...ada, answers: team('closed') }), [
      ['team', 'Your team: takes nobody.'],
    ])
    assert.equal(await findByEmail(base.run, ada.email), undefined)
    await base.idle()
    assert.equal(sent.length, 0)
    assert.equal(await faults({ ...ada, answers: team('blue') }), 'ready')
    assert.deepEqual(await faults({ ...ada, email: 'ben@example.com', answers: team('blue') }), [
      ['form', 'The team is full.'],
    ])
    await base.idle()
    assert.deepEqual(
      sent.map(({ to }) => to),
      ['ada@example.com'],
    )
  })
})

test('open: the model refuses a known address as it does an unknown one, so the response does not tell them apart', async () => {
  await withFixture({ declaration }, async ({ base }) => {
    assert.equal((await signUp(base, { ...ada, answers: team('red') })).kind, 'ready')
    const refused = { ...ada, answers: team('closed') }
    assert.deepEqual(
      await signUp(base, refused),
      await signUp(base, { ...refused, email: 'new@example.com' }),
    )
  })
})

test('confirmed: a refusal of the model is shown when the link is opened, and only with the password', async () => {
  await withFixture({ declaration, signUp: 'confirmed' }, async ({ base, token }) => {
    assert.equal((await signUp(base, { ...ada, answers: team('closed') })).kind, 'sent')
    const link = await token()
    assert.deepEqual(await finishSignUp(base, link, 'not the password', '192.0.2.1'), { kind: 'wrong' })
    assert.deepEqual(await finishSignUp(base, link, password, '192.0.2.1'), {
      kind: 'refused',
      messages: ['Your team: takes nobody.'],
    })
    assert.equal(await findByEmail(base.run, ada.email), undefined)
  })
})

test('the page shows a refusal at its field, and keeps the input', async () => {
  await withServer(
    {},
    async ({ browser }) => {
      const visitor = browser()
      const page = await visitor.open('/account/sign-up')
      const form = 'text' in page ? formWith(page, 'password') : undefined
      assert.ok(form)
      const again = await visitor.submit(form, { ...ada, field_team: 'closed' })
      assert.ok('text' in again)
      assert.equal(again.status, 400)
      assert.match(again.text, /id="field_team-fault">Your team: takes nobody\.</)
      const filled = formWith(again, 'password')
      assert.ok(filled)
      const value = filled.fields.find(({ name }) => name === 'email')?.value
      assert.equal(value, ada.email)
    },
    declaration,
  )
})
