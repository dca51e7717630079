/** An explanation must not reveal values that its caller cannot read, whatever request it is about. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import '../../models/blog.ts'
import type { TestService } from '../../../src/testing.ts'
import { testService } from '../../../src/testing.ts'

const {
  action,
  collection,
  currentUser,
  field,
  integer,
  model,
  nobody,
  owner,
  related,
  relation,
  role,
  signedIn,
  string,
  users,
} = await import('portico')

const isMember = related('members', owner('user_id'))

/** Administrators cannot read addresses, roles or vaults here. */
const declaration = model(
  {
    users: users({
      fields: { email: { access: { read: owner('id') } }, role: { access: { read: owner('id') } } },
    }),
    vaults: collection({
      fields: {
        name: string(),
        level: integer({ default: 3 }),
        code: string({ optional: true }),
        owner_id: relation('users', { default: currentUser, inverse: 'vaults' }),
      },
      access: {
        read: owner('owner_id').or(isMember),
        create: signedIn,
        update: owner('owner_id').and(field('level').lt(5)),
        delete: field('code').eq('open'),
      },
    }),
    members: collection({
      fields: {
        vault_id: relation('vaults', { inverse: 'members' }),
        user_id: relation('users', { inverse: 'memberships' }),
      },
      access: {
        read: owner('user_id'),
        create: related('vault', field('level').gte(5)),
        update: nobody,
        delete: nobody,
      },
    }),
    notes: collection({
      fields: { text: string(), author_id: relation('users', { optional: true }) },
      access: { read: nobody, create: field('author.name').eq('Ann'), update: nobody, delete: nobody },
    }),
    logs: collection({
      fields: { text: string() },
      access: { read: role('admin'), create: nobody, update: nobody, delete: nobody },
    }),
  },
  {
    actions: {
      fail: action({
        on: 'vaults',
        access: owner('owner_id'),
        run({ item }) {
          throw new Error(`THE-CODE ${item.code}`)
        },
      }),
      endless: action({
        access: signedIn,
        async run({ data }) {
          for (;;) await data.vaults.count({})
        },
      }),
      write_log: action({
        access: signedIn,
        async run({ data }) {
          await data.logs.create({ text: 'x' })
        },
      }),
    },
  },
)

let service: TestService<typeof declaration>
let root: number
let owned: number
let vault: number
before(async () => {
  service = await testService(declaration, {
    settings: { 'logic.limits': { action: '60 s', code: '2 min' }, rateLimit: 1000, logLevel: 'silent' },
  })
  root = (await service.users.create({ role: 'admin' })).id
  owned = (await service.users.create({ email: 'hidden@example.com' })).id
  vault = (await service.asSystem.vaults.create({ name: 'V', code: 'S3CRET', owner_id: owned })).id
})
after(() => service.close())

async function explain(body: object) {
  const answer = await service.request('POST /api/v1/explain', { as: root, body })
  assert.equal(answer.status, 200, answer.text)
  return answer
}

test('a hypothetical write does not give its caller the right to read a value', async () => {
  const path = `/vaults/${vault}`
  const change = { as: owned, method: 'PATCH', path, body: { owner_id: root, level: 4 } }
  const { text } = await explain(change)
  assert.match(text, new RegExp(`owner_id is ${root}, the caller is ${owned}`))
  assert.doesNotMatch(text, /S3CRET/)
  const unchanged = await explain({ ...change, body: { owner_id: root } })
  assert.match(unchanged.text, /level is \(a value you may not read\)/)
  assert.doesNotMatch(unchanged.text, /level is 3/)
  const joining = { as: owned, method: 'POST', path: '/members', body: { vault_id: vault, user_id: root } }
  const joined = await explain(joining)
  assert.match(joined.text, /level is \(a value you may not read\)/)
})

test('a user cannot be found by an address that the caller cannot read', async () => {
  const explainAs = (as: string) =>
    service.request('POST /api/v1/explain', { as: root, body: { as, path: '/vaults' } })
  const there = await explainAs('hidden@example.com')
  const not = await explainAs('nobody@example.com')
  assert.deepEqual([there.status, not.status], [400, 400])
  assert.equal(there.text.replaceAll('hidden', 'nobody'), not.text)
  assert.equal((await explainAs('nobody\0@example.com')).status, 400)
})

test('a hidden value is not shown to be empty', async () => {
  const empty = (await service.asSystem.vaults.create({ name: 'V', owner_id: owned })).id
  const removal = async (id: number) => {
    const { text } = await explain({ as: owned, method: 'DELETE', path: `/vaults/${id}` })
    assert.match(text, /code is \(a value you may not read\)/)
    return text.replaceAll(`vaults/${id}`, 'vaults/…').replaceAll(`"id":${id}`, '"id":…')
  }
  assert.equal(await removal(empty), await removal(vault))
})

test('a value is shown to be empty where the caller can read it, also in an item that the request creates', async () => {
  const ownVault = (await service.asSystem.vaults.create({ name: 'V', owner_id: root })).id
  const removal = await explain({ as: root, method: 'DELETE', path: `/vaults/${ownVault}` })
  assert.match(removal.text, /code is empty/)
  const note = await explain({ as: owned, method: 'POST', path: '/notes', body: { text: 'x' } })
  assert.match(note.text, /author\.name is empty/)
})

test('a role that the caller cannot read is not shown', async () => {
  const { body, text } = await explain({ as: owned, path: '/logs' })
  assert.equal(body.as.role, null)
  assert.match(text, /the caller's role is \(a value you may not read\)/)
  const own = await explain({ as: root, path: '/logs' })
  assert.match(own.text, /the caller's role is admin/)
})

test('an exception in custom code is logged, and not part of the explanation', async () => {
  const { body, text } = await explain({ as: owned, method: 'POST', path: `/vaults/${vault}/fail` })
  assert.deepEqual([body.status, body.code, body.reasons[0].kind], [500, 'INTERNAL_ERROR', 'code'])
  assert.match(body.reasons[0].message, /^The code of actions\.fail has failed/)
  assert.doesNotMatch(text, /THE-CODE|S3CRET/)
})

test('custom code has the limits of a real request, and the refused operation is named', async () => {
  const endless = await explain({ as: owned, method: 'POST', path: '/actions/endless' })
  const real = await service.request('POST /api/v1/actions/endless', { as: owned })
  assert.deepEqual([endless.body.status, endless.body.code], [real.status, real.body.error.code])
  const { body } = await explain({ as: owned, method: 'POST', path: '/actions/write_log' })
  assert.equal(body.code, 'FORBIDDEN')
  assert.match(
    body.reasons[0].message,
    /^In the code of actions\.write_log: Creating logs is refused: the rule nobody/,
  )
})

test('an explanation draws from the budget of its caller only', async () => {
  const budgetOf = async (as: number) => {
    const { headers } = await service.request('GET /api/v1/vaults', { as })
    return { remaining: Number(headers['x-ratelimit-remaining']), reset: headers['x-ratelimit-reset'] }
  }
  const budgets = async () => [await budgetOf(root), await budgetOf(owned)] as const
  const operation = { method: 'GET', path: '/vaults' }
  const batch = { operations: [operation, operation, operation] }
  for (;;) {
    const before = await budgets()
    await explain({ as: owned, path: '/vaults' })
    const between = await budgets()
    await explain({ as: owned, method: 'POST', path: '/batch', body: batch })
    const after = await budgets()
    // A new minute has begun meanwhile, with a new budget.
    if (after.some(({ reset }, index) => reset !== before[index]?.reset)) continue
    const spent = (now: typeof before) =>
      now.map((budget, index) => (before[index]?.remaining ?? 0) - budget.remaining)
    assert.deepEqual(
      [spent(between), spent(after)],
      [
        [11, 1],
        [24, 2],
      ],
    )
    return
  }
})

test('third-party apps and keys with scopes cannot request explanations', async () => {
  const body = { name: 'Key', scopes: ['read:vault'] }
  const { body: key } = await service.request('POST /api/v1/api_keys', { as: root, body })
  const headers = { authorization: `Bearer ${key.key}` }
  const answer = await service.request('POST /api/v1/explain', { headers, body: { path: '/vaults' } })
  assert.equal(answer.status, 403)
})
