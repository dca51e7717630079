/** A model with code of its own on writes: `prepare`, `check` and limits. */
import {
  anyone,
  atMost,
  boolean,
  choice,
  collection,
  datetime,
  field,
  integer,
  json,
  model,
  owner,
  relation,
  role,
  signedIn,
  string,
  text,
  users,
} from '../../src/index.ts'

/** The `title` of a task selects one of these faults. */
const misdeeds: Readonly<Record<string, () => unknown>> = {
  'null!': () => {
    throw null
  },
  'secret!': () => {
    throw new Error('the secret of the operator')
  },
  'promise!': () => Promise.reject(new Error('nobody waits for it')),
  'list!': () => [],
  'unknown!': () => ({ nope: 1 }),
  'id!': () => ({ id: 7 }),
  'created!': () => ({ created_at: '2020-01-01T00:00:00.000Z' }),
  'type!': () => ({ points: 'many' }),
  'nan!': () => ({ points: Number.NaN }),
  'function!': () => ({ extra: { run: () => 1 } }),
  'date!': () => ({ done_at: new Date() }),
  'cycle!': () => {
    const cycle: Record<string, unknown> = {}
    cycle.cycle = cycle
    return { extra: cycle }
  },
  'large!': () => ({ extra: 'x'.repeat(2_000_000) }),
  'null-title!': () => ({ title: null }),
  'getter!': () => ({
    get title() {
      throw new Error('the secret of the operator')
    },
  }),
  'nowhere!': () => ({ slug: 'nowhere', assignee_id: 999_999 }),
}

export default model({
  users: users({ fields: { nickname: string({ optional: true, max: 50 }) }, prepare: nickname }),
  projects: collection({
    fields: { name: string({ max: 100 }) },
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
  }),
  tasks: collection({
    fields: {
      title: string({ max: 100, searchable: true }),
      slug: string({ max: 100, readOnly: true }),
      status: choice(['open', 'done'], { default: 'open' }),
      done_at: datetime({ optional: true, readOnly: true }),
      points: integer({ optional: true, access: { write: role('admin') } }),
      extra: json({ optional: true }),
      note: text({ optional: true }),
      secret: string({ optional: true, writeOnly: true }),
      seen_by: json({ optional: true, readOnly: true }),
      project_id: relation('projects', { inverse: 'tasks', optional: true, onDelete: 'clear' }),
      assignee_id: relation('users', { inverse: 'tasks', optional: true, onDelete: 'clear' }),
      fixed: boolean({ default: false }),
    },
    updatedAt: true,
    prepare({ next, previous, caller, now }) {
      const misdeed = misdeeds[String(next.title)]
      if (misdeed !== undefined) return misdeed() as never
      const isDone = next.status === 'done'
      return {
        slug: String(next.title).trim().toLowerCase().replaceAll(' ', '-'),
        title: String(next.title).trim(),
        ...(isDone && previous?.status !== 'done' ? { done_at: now } : {}),
        ...(isDone ? {} : { done_at: null }),
        // Above the highest value that this caller can write.
        ...(next.note === 'many points' ? { points: 1000 } : {}),
        ...(groupIn(next.note) === undefined ? {} : { project_id: groupIn(next.note) }),
        seen_by:
          next.note === 'who?' ? { caller, previous: previous ?? null, next: Object.keys(next) } : null,
      } as never
    },
    check({ next, previous }) {
      const faults: { field?: 'title'; code?: string; message: string }[] = []
      if (next.title === 'wrong') faults.push({ field: 'title', message: 'Wrong.', code: 'wrong' })
      if (next.note === 'bad') faults.push({ message: 'A bad task.' })
      if (previous?.fixed === true) faults.push({ message: 'A fixed task does not change.' })
      if (next.title === 'bad check') return 'no list' as never
      if (next.title === 'bad field') return [{ field: 'nope', message: 'x' }] as never
      return faults
    },
    limits: [
      atMost(3, { per: 'project_id', where: field('status').ne('done'), message: 'Too many open tasks.' }),
    ],
    access: {
      read: anyone,
      create: owner('assignee_id').or(signedIn),
      // Of a field that only `prepare` sets.
      update: signedIn.and(field('slug').ne('taboo')),
      delete: signedIn,
    },
  }),
  slots: collection({
    fields: { name: string({ max: 100 }), on: boolean({ default: true }) },
    limits: [atMost(2, { where: field('on').eq(true) })],
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
  }),
})

/** The group that a task's note asks for. */
function groupIn(note: unknown): number | undefined {
  const id = /^into project (\d+)$/.exec(String(note))?.[1]
  return id === undefined ? undefined : Number(id)
}

function nickname({ next }: { readonly next: { readonly name?: unknown; readonly nickname?: unknown } }) {
  return next.nickname === null ? { nickname: String(next.name).toLowerCase() } : {}
}
