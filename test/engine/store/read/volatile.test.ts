/** Answers that depend on the time or on claims are not reused for another time or other claims. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Principal, user } from '../../../../src/base/principal.ts'
import type { ListAnswer } from '../../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import type { Rule } from '../../../../src/model/rule/rule.ts'
import { seededStores } from '../../../setups/databases/seeded-store.ts'
import { requestTimeMs } from '../../plan/reference.ts'
import { anyone, smallModel } from '../../plan/small-model.ts'
import { fields, listOfPosts } from '../blog.ts'

const hourMs = 3_600_000

/** Enough that totals and deep pages would be cached. */
const posts = 400

/** One post per hour, starting at the moment. */
const data = {
  users: [{ id: 1, name: 'a', created_at: new Date(requestTimeMs).toISOString() }],
  posts: Array.from({ length: posts }, (_, index) => ({
    id: index + 1,
    title: 'a',
    note: index % 2 === 0 ? 'red' : 'blue',
    created_at: new Date(requestTimeMs + index * hourMs).toISOString(),
  })),
}

const published: Rule = {
  kind: 'compare',
  field: 'created_at',
  comparison: 'lte',
  operand: { kind: 'now', shiftMs: 0 },
}

const ofTeam: Rule = {
  kind: 'compare',
  field: 'note',
  comparison: 'eq',
  operand: { kind: 'claim', claim: 'team' },
}

function modelWith(read: Rule) {
  return smallModel({ access: { posts: { read, create: anyone, update: anyone, delete: anyone } } })
}

const shape = { ...listOfPosts, select: fields('id') }

/** Reads pages with one guarded shape for all callers and times, so that they share a cache. */
function reading(store: Store, read: Rule) {
  const guard = createGuard(modelWith(read))
  return async (who: Principal, offset: number) => {
    const { text, total } = (await store.read(guard({ shape, args: [offset, 2] }, who))) as ListAnswer
    return { ids: (JSON.parse(text ?? '[]') as { id: number }[]).map(({ id }) => id), total }
  }
}

const caller = user(1, 'user', 'all')

function claiming(team: string | number | boolean): Principal {
  const values = new Map([['team', team]])
  return { ...caller, claims: { key: JSON.stringify([...values]), values } }
}

const ofApp: Rule = { kind: 'compare', field: 'author_id', comparison: 'eq', operand: { kind: 'appId' } }

function through(app: number | null): Principal {
  const delegate = { app: app === null ? null : { id: app, name: 'An app' }, grant: null, thirdParty: true }
  return user(1, 'user', 'all', undefined, undefined, delegate)
}

for (const { name, within } of seededStores) {
  test(`on ${name} each request is answered as of its own time`, async () => {
    let now = requestTimeMs
    const use = async ({ store }: { readonly store: Store }) => {
      const seen = reading(store, published)
      for (const hours of [150, 150, 151, 150.999, 399, 300, -1]) {
        now = requestTimeMs + hours * hourMs
        const total = Math.floor(hours) + 1
        for (const offset of [0, 149, 260, 298]) {
          const ids = [offset + 1, offset + 2].filter(id => id <= total)
          assert.deepEqual(
            await seen(caller, offset),
            { ids, total },
            `after ${hours} hours, from ${offset} on`,
          )
        }
      }
    }
    await within(modelWith(published), data, use, () => now)
  })

  test(`on ${name} an answer for the claims of one caller is not reused for other claims`, async () => {
    await within(modelWith(ofTeam), data, async ({ store }) => {
      const seen = reading(store, ofTeam)
      const reads = ['red', 'blue', 'red', 'green', 7, true].map(team => seen(claiming(team), 0))
      const results = (await Promise.all(reads)).map(({ ids, total }) => [...ids, total])
      const none = [0]
      assert.deepEqual(results, [[1, 3, posts / 2], [2, 4, posts / 2], [1, 3, posts / 2], none, none, none])
      assert.deepEqual((await seen(caller, 0)).ids, [])
    })
  })

  test(`on ${name} an answer for the app of one caller is not reused for another of the same rights`, async () => {
    const authors = [1, 2].map(id => ({ ...data.users[0], id }))
    const written = data.posts.map(post => ({ ...post, author_id: (post.id % 2) + 1 }))
    await within(modelWith(ofApp), { users: authors, posts: written }, async ({ store }) => {
      const seen = reading(store, ofApp)
      assert.equal(through(1).access, through(null).access)
      const reads = [1, 2, null, 1, 3].map(app => seen(through(app), 0))
      const results = (await Promise.all(reads)).map(({ ids, total }) => [...ids, total])
      assert.deepEqual(results, [[2, 4, posts / 2], [1, 3, posts / 2], [0], [2, 4, posts / 2], [0]])
    })
  })
}
