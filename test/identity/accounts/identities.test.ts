/** The limit on a user’s linked accounts at other providers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFixture } from './fixture.ts'

const maker = { userId: 7, session: 's' }

function linked(subject: string) {
  const profile = {
    issuer: 'https://id.example.com',
    subject,
    name: 'Ada',
    email: undefined,
    emailVerified: false,
  }
  return { provider: 'corp', profile }
}

test('concurrent requests link at most 20 identities', async () => {
  await withFixture({}, async ({ base: { identities } }) => {
    const add = (subject: string) => identities.add(maker, linked(subject))
    for (let count = 1; count < 20; count++) assert.equal(await add(`one ${count}`), 'added')
    const subjects = ['a', 'b', 'c', 'd']
    const answers = await Promise.all(subjects.map(add))
    const { length } = await identities.list(maker.userId)
    assert.ok(length <= 20, `${length} identities`)
    assert.equal(length, 19 + answers.filter(answer => answer === 'added').length)
    for (const [index, answer] of answers.entries()) {
      assert.ok(answer === 'added' || answer === 'full', answer)
      const { profile } = linked(subjects[index] ?? '')
      assert.equal((await identities.find(profile)) !== undefined, answer === 'added')
    }
    if (length === 19) assert.equal(await add('last'), 'added')
    assert.equal(await add('one too many'), 'full')
    assert.equal(await add('one 1'), 'full')
  })
})
