/** Rules of computed fields read columns of related rows, with row security too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import {
  caller,
  checkModel,
  collection,
  count,
  field,
  model,
  related,
  relation,
  signedIn,
  text,
  users,
  when,
} from '../../../../../src/index.ts'
import { seededStores } from '../../../../setups/databases/seeded-store.ts'

const declared = checkModel(
  model({
    users: users({ fields: { team: text({ optional: true }) } }),
    projects: collection({
      fields: { name: text(), secret: text({ optional: true }) },
      access: { read: signedIn },
      computed: {
        own: count('tasks', field('assignee.team').eq(caller('team'))),
        same: when(related('tasks', field('project.secret').eq('a')), 'yes', 'no'),
      },
    }),
    tasks: collection({
      fields: {
        title: text(),
        project_id: relation('projects', { inverse: 'tasks' }),
        assignee_id: relation('users', { inverse: 'tasks' }),
      },
      access: { read: signedIn },
    }),
  }),
)

const created_at = '2026-01-01T00:00:00.000Z'
const data = {
  users: ['red', 'blue'].map((team, index) => {
    return { id: index + 1, name: team, email: `${team}@example.com`, role: 'user', team, created_at }
  }),
  projects: [{ id: 1, name: 'a', secret: 'a', created_at }],
  tasks: [1, 1, 2].map((assignee_id, index) => ({
    id: index + 1,
    title: 'a',
    project_id: 1,
    assignee_id,
    created_at,
  })),
}

for (const { name, within } of seededStores) {
  test(`rules of computed fields read columns of related rows on ${name}`, () =>
    within(declared, data, async ({ store }) => {
      const guard = createGuard(declared)
      const select = ['own', 'same'].map(key => ({ kind: 'field', key, field: key }) as const)
      const shape = { kind: 'item', collection: 'projects', id: 0, select } as const
      const read = async (id: number) => {
        const { text } = await store.read(guard({ shape, args: [1] }, user(id, 'user', 'all')))
        return JSON.parse(text ?? 'null')
      }
      assert.deepEqual(await read(1), { own: 2, same: 'yes' })
      assert.deepEqual(await read(2), { own: 1, same: 'yes' })
    }))
}
