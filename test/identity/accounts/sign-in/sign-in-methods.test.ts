/** Removals of passkeys and identities, which never leave a user without a sign-in method. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { identityKind } from '../../../../src/identity/accounts/identities.ts'
import type { Provider } from '../../../../src/identity/accounts/providers/provider.ts'
import { passkeyKind } from '../../../../src/identity/accounts/sign-in/passkeys.ts'
import {
  removeSignInMethod,
  type SignInMethodParts,
} from '../../../../src/identity/accounts/sign-in/sign-in-methods.ts'
import { createUser } from '../../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { databaseKinds } from '../../../engine/store/databases.ts'
import blog from '../../../models/blog.ts'
import { cheapHash } from '../../cheap-hash.ts'
import { crashingRecords, untilCrash } from '../../crashing-records.ts'

const model = checkModel(blog)
const providers = new Map([['corp', {} as Provider]])
const methods = [
  { kind: passkeyKind, id: 'b', payload: JSON.stringify({ name: 'A phone' }) },
  { kind: passkeyKind, id: 'c', payload: JSON.stringify({ name: 'A laptop' }) },
  { kind: identityKind, id: 'a', payload: JSON.stringify({ provider: 'corp' }) },
]

interface Fixture {
  /** The parts of each of two nodes. */
  readonly nodes: readonly [SignInMethodParts, SignInMethodParts]
  /** Creates a user with these sign-in methods. */
  user(password: string | undefined, userMethods: typeof methods): Promise<number>
  left(userId: number): Promise<readonly string[]>
}

for (const { name, within } of databaseKinds) {
  const withFixture = (use: (fixture: Fixture) => Promise<void>) =>
    within(async database => {
      const first = await database.open(model)
      // Only one process may open a SQLite file.
      const second = name === 'SQLite' ? first : await database.open(model)
      const partsOf = (store: typeof first): SignInMethodParts => ({
        base: { run: createRun(createGuard(model), store), records: store.records },
        providers,
      })
      const nodes = [partsOf(first), partsOf(second)] as const
      const { run, records } = nodes[0].base
      try {
        let count = 0
        await use({
          nodes,
          async user(password, userMethods) {
            count += 1
            const email = `user-${count}@example.com`
            const id = await createUser(run, { name: 'Ada', email }, password ?? 'x', async () =>
              password === undefined ? (null as never) : cheapHash(password),
            )
            for (const method of userMethods)
              await records.put({ ...method, id: idOf(id, method.id), expiresAt: null, owner: String(id) })
            return id
          },
          async left(userId) {
            const found = [passkeyKind, identityKind].map(kind => records.byOwner(kind, String(userId)))
            return (await Promise.all(found)).flat().map(({ id }) => id.slice(id.indexOf(' ') + 1))
          },
        })
      } finally {
        for (const store of new Set([first, second])) await store.close()
      }
    })
  const idOf = (userId: number, id: string) => `${userId} ${id}`

  test(`of concurrent removals of all sign-in methods, exactly one is refused (${name})`, async () => {
    await withFixture(async ({ nodes, user, left }) => {
      for (let round = 0; round < 10; round++) {
        const userMethods = round % 2 === 0 ? methods : methods.slice(round % 3 === 0 ? 0 : 1).slice(0, 2)
        const id = await user(undefined, userMethods)
        const answers = await Promise.all(
          userMethods.map((method, at) =>
            removeSignInMethod(nodes[at % 2] ?? assert.fail(), id, {
              kind: method.kind,
              id: idOf(id, method.id),
            }),
          ),
        )
        assert.deepEqual(answers.toSorted(), ['last', ...userMethods.slice(1).map(() => 'removed')])
        assert.equal((await left(id)).length, 1)
      }
    })
  })

  test(`a removal cannot be half done, and needs the owner and another method (${name})`, async () => {
    await withFixture(async ({ nodes: [parts], user, left }) => {
      const id = await user(undefined, methods.slice(0, 2))
      const stranger = await user(undefined, methods)
      const key = { kind: passkeyKind, id: idOf(id, 'b') }
      assert.equal(await removeSignInMethod(parts, stranger, key), 'missing')
      assert.equal(await removeSignInMethod(parts, id, { kind: passkeyKind, id: 'unknown' }), 'missing')

      const { base } = parts
      const died = crashingRecords(
        base.records,
        untilCrash(() => false),
      )
      assert.equal(
        await removeSignInMethod({ providers, base: { ...base, records: died } }, id, key),
        'removed',
      )
      assert.deepEqual(await left(id), ['c'])
      assert.equal(await removeSignInMethod(parts, id, { kind: passkeyKind, id: idOf(id, 'c') }), 'last')
      assert.deepEqual(await left(id), ['c'])
    })
  })

  test(`a password counts as another method; an identity of a provider that is not configured does not (${name})`, async () => {
    await withFixture(async ({ nodes: [parts], user, left }) => {
      const withPassword = await user('a password', methods.slice(0, 1))
      const key = (id: number, method: string) => ({ kind: passkeyKind, id: idOf(id, method) })
      assert.equal(await removeSignInMethod(parts, withPassword, key(withPassword, 'b')), 'removed')
      assert.deepEqual(await left(withPassword), [])

      const without = { ...parts, providers: new Map<string, Provider>() }
      const id = await user(undefined, [methods[0] ?? assert.fail(), methods[2] ?? assert.fail()])
      assert.equal(await removeSignInMethod(without, id, key(id, 'b')), 'last')
      assert.equal(await removeSignInMethod(parts, id, key(id, 'b')), 'removed')
    })
  })
}
