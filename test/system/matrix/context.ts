/** The rows of the matrix, and a connection that reads all of them without the service. */
import { isDeepStrictEqual } from 'node:util'
import { system } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { dumpCollection } from '../../api/contract/rest/harness.ts'
import type { Data, Row } from '../../engine/plan/reference.ts'
import rich from '../../models/rich.ts'
import type { Deployment } from '../../setups/setup.ts'

export const model: Model = checkModel(rich)

export type Values = Readonly<Record<string, JsonValue>>

/** The values hidden from most callers: two services may differ only in these. */
export interface Secrets {
  readonly phone: string
  readonly budget: number
  readonly passphrase: string
  readonly ticket: string
  /** The text of rows that are hidden entirely. */
  readonly text: string
}

export const defaultSecrets: Secrets = {
  phone: '+1 111',
  budget: 111,
  passphrase: 'correct horse',
  ticket: 'T-1',
  text: 'first secret',
}

const [root, ann, ben, cleo] = [1, 2, 3, 4]
export const people = { root, ann, ben, cleo } as const

/** The rows in the order of insertion: the id of a row is its position in its collection, from 1. */
export function rowsOf({
  budget,
  passphrase,
  ticket,
  text,
}: Secrets): readonly (readonly [string, Values])[] {
  const project = (name: string, owner_id: number, visibility: string): [string, Values] => [
    'projects',
    { name, slug: name.toLowerCase(), owner_id, visibility, budget, settings: {}, code: null },
  ]
  const task = (
    title: string,
    project_id: number,
    assignee_id: number | null,
    state = 'open',
  ): [string, Values] => [
    'tasks',
    {
      title,
      project_id,
      assignee_id,
      state,
      notes: project_id === 4 ? text : null,
      ticket,
      started_on: '2026-01-01',
    },
  ]
  return [
    project('Open', ann, 'open'),
    project('Ours', ann, 'members'),
    project('Theirs', ben, 'members'),
    project('Hidden', root, 'members'),
    ['memberships', { project_id: 2, user_id: ben, level: 'editor' }],
    ['memberships', { project_id: 3, user_id: ann, level: 'guest' }],
    ['memberships', { project_id: 3, user_id: cleo, level: 'lead' }],
    task('Open work', 1, null),
    task('Our work', 2, ann),
    task('Our done work', 2, ben, 'done'),
    task('Their work', 3, ben),
    task('Hidden work', 4, root),
    ['labels', { name: 'red', shade: '#ff0000' }],
    ['labels', { name: 'blue', shade: null }],
    ['task_labels', { task_id: 2, label_id: 1 }],
    ['task_labels', { task_id: 5, label_id: 2 }],
    [
      'contacts',
      { owner_id: ann, email: 'a@example.org', website: null, born_on: null, passphrase, blocked: false },
    ],
    [
      'contacts',
      { owner_id: ann, email: 'b@example.org', website: null, born_on: null, passphrase, blocked: true },
    ],
    [
      'contacts',
      { owner_id: ben, email: 'c@example.org', website: null, born_on: null, passphrase, blocked: false },
    ],
    ['notices', { title: 'For all', published_at: '2026-01-01T00:00:00.000Z', audience: 'all' }],
    ['notices', { title: text, published_at: '2026-01-01T00:00:00.000Z', audience: 'staff' }],
    ['notices', { title: text, published_at: null, audience: 'all' }],
    ['audits', { subject: text, weight: budget }],
    ['audits', { subject: 'What was done', weight: 1 }],
  ]
}

export interface Context {
  readonly run: Run
  /** Every row with all fields, by collection. */
  snapshot(): Promise<Data>
  insert(collection: string, values: Values): Promise<number>
  update(collection: string, id: number, values: Values): Promise<void>
  remove(collection: string, id: number): Promise<void>
  close(): Promise<void>
}

const assignmentsOf = (names: readonly string[], from = 0) =>
  names.map((field, index) => ({ field, param: from + index }))

/** Opens the database as another process would. */
export async function openContext(deployment: Deployment): Promise<Context> {
  const store = await deployment.openStore(model)
  const run = createRun(createGuard(model), store)
  /** Changes with every commit that changes a collection, by any process. */
  const version = async () => {
    await store.refresh()
    return [...model.collections.keys()].map(name => store.version(name)).join()
  }
  let cached: { readonly version: string; readonly data: Data } | undefined
  return {
    run,
    close: () => store.close(),
    async snapshot() {
      const now = await version()
      if (cached && cached.version === now) return cached.data
      const data: Record<string, readonly Row[]> = {}
      for (const name of model.collections.keys()) {
        const text = await dumpCollection(model, run, name)
        data[name] = JSON.parse(text.slice(text.indexOf(' ')))
      }
      cached = { version: now, data }
      return data
    },
    async insert(collection, values) {
      const computed = assignmentsOf(Object.keys(values))
      const shape = { kind: 'create', collection, set: [], computed, select: [] } as const
      return (await run.write({ shape, args: Object.values(values) }, system)).id
    },
    async update(collection, id, values) {
      const set = assignmentsOf(Object.keys(values), 1)
      const common = { mode: 'merge', documents: 'replace', ifMatch: undefined, select: [] } as const
      await run.write(
        {
          shape: { kind: 'update', collection, id: 0, set, ...common },
          args: [id, ...Object.values(values)],
        },
        system,
      )
    },
    async remove(collection, id) {
      await run.write(
        { shape: { kind: 'delete', collection, id: 0, ifMatch: undefined }, args: [id] },
        system,
      )
    },
  }
}

/** Fills a database that has the four users. */
export async function fill(context: Context, secrets: Secrets): Promise<void> {
  for (const id of Object.values(people))
    await context.update('users', id, { phone: id === root ? secrets.phone : '+2 222' })
  // The administrator can lose the role only if there is another one.
  await context.insert('users', { name: 'Second', email: 'second@example.com', role: 'admin' })
  for (const [collection, values] of rowsOf(secrets)) await context.insert(collection, values)
}

const times = new Set(['created_at', 'updated_at'])
/** Values that the service chooses, which the reference cannot know. */
const ownValues: Readonly<Record<string, ReadonlySet<string>>> = {
  tasks: new Set(['started_on', 'seen_at', 'reference']),
}

function comparable(collection: string, rows: readonly Row[] = []): readonly Row[] {
  const ownValue = ownValues[collection]
  return rows
    .map(row =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !times.has(name) && !ownValue?.has(name))),
    )
    .sort((a, b) => Number(a.id) - Number(b.id))
}

/** Whether two states are equal, except for the values that the service chooses. */
export function equalData(
  a: Data,
  b: Data,
  collections: Iterable<string> = model.collections.keys(),
): boolean {
  return [...collections].every(name =>
    isDeepStrictEqual(comparable(name, a[name]), comparable(name, b[name])),
  )
}
