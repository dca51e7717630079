/** Index advice for the counts that limits and computed fields run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countAdvice } from '../../../src/engine/store/advice/counts.ts'
import {
  anyone,
  atMost,
  choice,
  coalesce,
  collection,
  count,
  field,
  index,
  integer,
  model,
  relation,
  string,
  sum,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'

const access = { read: anyone, create: anyone }
const isOpen = field('status').eq('open')

const modelWith = (...indexes: ReturnType<typeof index>[]) =>
  checkModel(
    model({
      projects: collection({
        fields: { name: string() },
        computed: {
          open: count('tasks', isOpen),
          all: count('tasks'),
          others: count('tasks', field('status').ne('open')),
          points: coalesce(sum('tasks', 'points', isOpen.and(field('city').eq('Rome'))), 0),
        },
        access,
      }),
      tasks: collection({
        fields: {
          status: choice(['open', 'done'], { default: 'open' }),
          city: string(),
          points: integer({ default: 0 }),
          project_id: relation('projects', { inverse: 'tasks' }),
        },
        limits: [
          atMost(10, { per: 'project_id' }),
          atMost(10, { per: 'project_id', where: isOpen }),
          atMost(10, { per: 'city', where: field('points').gt(3) }),
          atMost(1000, { where: isOpen }),
          atMost(5000),
        ],
        indexes,
        access,
      }),
    }),
  )

test('the advice names an index for each count that has none: the columns that the count compares for equality', () => {
  assert.deepEqual(
    countAdvice(modelWith()).map(({ place, collection, index }) => `${place}: ${collection} ${index}`),
    [
      "projects.computed.open: tasks index('project_id', 'status')",
      "projects.computed.points: tasks index('project_id', 'status', 'city')",
      "tasks.limits[1]: tasks index('project_id', 'status')",
      "tasks.limits[2]: tasks index('city')",
      "tasks.limits[3]: tasks index('status')",
    ],
  )
})

test('a declared index satisfies the advice whatever the order of its columns', () => {
  const declared = [
    index('status', 'project_id', 'city'),
    index('status', 'project_id'),
    index('city', '-points'),
  ]
  assert.deepEqual(countAdvice(modelWith(...declared)), [])
})
