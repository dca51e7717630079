/** The types that a model's logic is written with. Most of this file is tested by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  action,
  atMost,
  choice,
  collection,
  count,
  currentUser,
  datetime,
  every,
  field,
  type Item,
  integer,
  item,
  job,
  model,
  now,
  on,
  owner,
  query,
  related,
  relation,
  role,
  text,
  users,
} from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only for `true`. */
const same = <T extends true>(value: T): T => value

/** As INTERFACE.md has it. */
const declaration = model(
  {
    users: users({ fields: { email: { access: { read: owner('id').or(role('admin')) } } } }),
    projects: collection({
      fields: {
        name: text(),
        archived: text({ optional: true }),
        owner_id: relation('users', { default: currentUser, inverse: 'projects' }),
      },
      computed: { open_tasks: count('tasks', field('status').ne('done')) },
      access: {
        read: owner('owner_id'),
        create: owner('owner_id'),
        update: owner('owner_id'),
        delete: owner('owner_id'),
      },
    }),
    tasks: collection({
      fields: {
        title: text(),
        status: choice(['open', 'done'], { default: 'open' }),
        completed_at: datetime({ optional: true }),
        project_id: relation('projects', { inverse: 'tasks' }),
      },
      prepare: ({ next, previous, now }) =>
        next.status === 'done' && previous?.status !== 'done' ? { completed_at: now } : {},
      check: ({ next }) => (next.title === '' ? [{ field: 'title', message: 'A task needs a title.' }] : []),
      limits: [atMost(100, { per: 'project_id', where: field('status').ne('done') })],
      access: {
        read: related('project', owner('owner_id')),
        create: related('project', owner('owner_id')),
        update: related('project', owner('owner_id')).and(
          field('created_at').gte(now.minus({ minutes: 15 })),
        ),
      },
    }),
  },
  {
    actions: {
      archive: action({
        on: 'projects',
        input: { why: text() },
        output: item('projects'),
        access: owner('owner_id'),
        async run({ item, input, data }) {
          // As the service: the fifteen minutes of the rule do not hold here. `list` gives up to 100, `all` walks.
          for await (const task of data.asSystem.tasks.all({ where: { project_id: item.id } }))
            await data.asSystem.tasks.update(task.id, { status: 'done' })
          return data.projects.update(item.id, { archived: input.why })
        },
      }),
    },
    queries: {},
    reactions: { assigned: on('task.updated', async ({ event, mail }) => {}) },
    jobs: { nightly: every('day at 03:00', async ({ data }) => {}) },
  },
)
