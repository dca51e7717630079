/** The types of a model's logic. Most of this file is checked by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../../src/client.ts'
import {
  type AccessRule,
  action,
  anyone,
  atMost,
  type CreateInput,
  caller as callersOwn,
  check,
  checkModel,
  choice,
  collection,
  count,
  currentUser,
  type Data,
  datetime,
  every,
  field,
  firstParty,
  type Item,
  integer,
  item,
  job,
  model,
  not,
  now,
  number,
  on,
  owner,
  query,
  related,
  relation,
  role,
  type SystemData,
  scope,
  signedIn,
  sum,
  text,
  type UpdateInput,
  users,
  type Where,
} from '../../src/index.ts'
import type { LogicCaller, LogicUser } from '../../src/model/logic/logic.ts'
import type { Service } from '../../src/server/serve/typed.ts'
import { type Equal, is, same } from './type-equality.ts'

const ownTasks = related('project', owner('owner_id'))

/** A model with every kind of logic. */
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
      updatedAt: true,
      fields: {
        title: text(),
        status: choice(['open', 'done'], { default: 'open' }),
        completed_at: datetime({ optional: true, readOnly: true }),
        project_id: relation('projects', { inverse: 'tasks', immutable: true }),
      },
      prepare: ({ next, previous, now }) =>
        next.status === 'done' && previous?.status !== 'done' ? { completed_at: now } : {},
      check: ({ next }) => (next.title === '' ? [{ field: 'title', message: 'A task needs a title.' }] : []),
      limits: [atMost(100, { per: 'project_id', where: field('status').ne('done') })],
      access: {
        read: ownTasks,
        create: ownTasks,
        update: ownTasks.and(field('created_at').gte(now.minus({ minutes: 15 }))),
      },
    }),
    reviews: collection({
      fields: {
        grade: integer({ access: { read: role('admin') } }),
        by_id: relation('users', { optional: true }),
      },
    }),
  },
  {
    checks: {
      tasks: check(async ({ next, previous, caller, data, now }) => {
        is<'open' | 'done'>()(next.status)
        is<number>()(next.id)
        is<string>()(now)
        if (caller === null || previous === undefined) return
        is<'open' | 'done'>()(previous.status)
        const project = await data.projects.get(next.project_id, { include: ['owner'] })
        const others = await data.tasks.list({ where: { project_id: next.project_id } })
        // @ts-expect-error A check only reads.
        data.tasks.update
        // @ts-expect-error There is no such field.
        next.nope
        return others.length > 5 ? [{ field: 'title', message: `Too many of ${project?.owner.name}.` }] : []
      }),
      // As the service, which sees all fields.
      reviews: check(({ next }) => {
        is<number>()(next.grade)
        return [{ message: 'No.' }]
      }),
    },
    actions: {
      archive: action({
        on: 'projects',
        input: { why: text() },
        output: item('projects'),
        access: owner('owner_id'),
        async run({ item, input, data }) {
          // As the service, without the rule's limit of fifteen minutes. `list` returns up to 100 items, `all` iterates over all.
          for await (const task of data.asSystem.tasks.all({ where: { project_id: item.id } }))
            await data.asSystem.tasks.update(task.id, { status: 'done' })
          return data.projects.update(item.id, { archived: input.why })
        },
      }),
      move: action({
        of: 'tasks',
        input: { task: item('tasks'), to: item('projects'), note: text({ optional: true }) },
        output: { moved: integer(), task: item('tasks') },
        emits: { 'task.moved': { fields: { from: integer() } }, 'task.seen': {} },
        async run({ item, input, data, caller, emit, later, now }) {
          is<undefined>()(item)
          is<'open' | 'done'>()(input.task.status)
          is<string | null>()(input.note)
          is<string>()(caller.role)
          emit('task.moved', input.task, { from: input.task.project_id })
          emit('task.seen', input.task)
          later(now, 'remind', { task_id: input.task.id })
          const task = await data.asSystem.tasks.update(input.task.id, { project_id: input.to.id })
          return { moved: 1, task }
        },
      }),
      ping: action({ run: () => undefined }),
    },
    queries: {
      report: query({
        input: { since: datetime({ default: now }), status: choice(['open', 'done']) },
        output: { share: number() },
        async run({ data, input }) {
          is<string>()(input.since)
          return { share: await data.tasks.count({ status: input.status }) }
        },
      }),
    },
    reactions: {
      changed: on(['task.created', 'task.updated'], ({ event }) => {
        is<'open' | 'done'>()(event.data.status)
        if (event.type === 'task.created') is<null>()(event.changed)
        else is<'open' | 'done'>()(event.previous.status)
      }),
      graded: on('review.updated', ({ event }) => {
        is<number>()(event.data.grade)
        is<number>()(event.previous.grade)
      }),
      moved: on('task.moved', ({ event }) => is<number>()(event.item_id), {
        description: 'Tells the owner.',
      }),
      assigned: on('task.updated', async ({ event, data, mail, signal }) => {
        const project = await data.projects.get(event.data.project_id, { include: ['owner'] })
        if (project !== null && !signal.aborted)
          await mail.send({ to: project.owner.email, subject: event.data.title, text: event.changed.join() })
      }),
    },
    jobs: {
      nightly: every('day at 03:00', async ({ data }) => {
        await data.tasks.update(1, { completed_at: null })
      }),
      weekly: every('0 3 * * 1', { timeZone: 'Europe/Berlin' }, ({ log, now }) => log.info(now)),
      remind: job({
        input: { task_id: integer(), again: integer({ default: 0 }) },
        run: ({ input }) => is<{ readonly task_id: number; readonly again: number }>()(input),
      }),
    },
  },
)

type Model = typeof declaration
type Project = Item<Model, 'projects'>
type Task = Item<Model, 'tasks'>

/** The code is only compiled, not run. */
const compiled = (
  _work: (parts: { api: Client<Model>; data: Data<Model>; system: SystemData<Model> }) => unknown,
) => assert.ok(true)

test('a check that reads does not compile with an unknown field', () => {
  const posts = collection({ fields: { title: text() } })
  const wrong = () => [
    // @ts-expect-error A fault of an unknown field.
    model({ posts }, { checks: { posts: check(async () => [{ field: 'nope', message: 'x' }]) } }),
    // @ts-expect-error Not a check.
    model({ posts }, { checks: { posts: async () => [] } }),
  ]
  assert.equal(typeof wrong, 'function')
})

test('the model is valid', () => {
  const { logic } = checkModel(declaration)
  assert.deepEqual([...logic.actions.keys()], ['archive', 'move', 'ping'])
  assert.deepEqual([...logic.jobs.keys()], ['nightly', 'weekly', 'remind'])
})

test('an item type has the selected computed fields, and fields with read rules may be absent', () => {
  type Expected = {
    readonly id: number
    readonly name: string
    readonly archived: string | null
    readonly owner_id: number
    readonly open_tasks?: number
    readonly created_at: string
  }
  assert.ok(same<Equal<Project, Expected>>(true))
  type User = {
    readonly id: number
    readonly name: string
    readonly role: string
    readonly disabled?: boolean | null
    readonly email?: string | null
    readonly created_at: string
  }
  assert.ok(same<Equal<Item<Model, 'users'>, User>>(true))
})

test('stored aggregates are numbers of their items, in conditions too, and their options are typed', () => {
  const access = { read: anyone }
  const counted = model({
    rooms: collection({
      fields: { name: text() },
      computed: {
        taken: count('bookings', { where: field('state').ne('off'), asSystem: true, stored: true }),
        people: sum('bookings', 'people', { asSystem: true, stored: true }),
      },
      access,
    }),
    bookings: collection({
      fields: {
        state: choice(['on', 'off']),
        people: integer(),
        room_id: relation('rooms', { inverse: 'bookings' }),
      },
      access,
    }),
  })
  type Counted = typeof counted
  assert.ok(same<Equal<Item<Counted, 'rooms'>['taken'], number | undefined>>(true))
  assert.ok(same<Equal<Item<Counted, 'rooms'>['people'], number | undefined>>(true))
  const where: Where<Counted, 'rooms'> = { taken: { gt: 1 }, people: 3 }
  // @ts-expect-error: it is a number.
  const wrong: Where<Counted, 'rooms'> = { taken: 'many' }
  // @ts-expect-error: it is computed.
  const created: CreateInput<Counted, 'rooms'> = { name: 'x', taken: 1 }
  // @ts-expect-error: it is true or false.
  count('bookings', { asSystem: true, stored: 'yes' })
  assert.ok(where && wrong && created)
})

test('the input of an update excludes read-only and immutable fields, that of the service does not', () => {
  assert.ok(
    same<Equal<UpdateInput<Model, 'tasks'>, { readonly title?: string; readonly status?: 'open' | 'done' }>>(
      true,
    ),
  )
  type BySystem = Parameters<SystemData<Model>['tasks']['update']>[1]
  type Changes = {
    readonly title?: string
    readonly status?: 'open' | 'done'
    readonly completed_at?: string | null
    readonly project_id?: number
  }
  assert.ok(same<Equal<BySystem, Changes>>(true))
})

test('a read returns the fields that it selects', () => {
  compiled(async ({ data }) => {
    is<Task | null>()(await data.tasks.get(1))
    is<readonly Task[]>()(await data.tasks.list({ where: { title: { icontains: 'x' } }, sort: ['-id'] }))
    is<{ readonly title: string } | null>()(await data.tasks.first({ fields: ['title'] }))
    is<{ readonly id: number; readonly open_tasks: number } | null>()(
      await data.projects.get(1, { fields: ['id', 'open_tasks'] }),
    )
    const task = await data.tasks.get(1, { include: ['project.owner'] })
    is<string | undefined>()(task?.project?.owner?.name)
    const project = await data.projects.get(1, { include: ['tasks'] })
    is<readonly Task[] | undefined>()(project?.tasks)
    for await (const task of data.tasks.all()) is<Task>()(task)
  })
})

test('the service reads whole items, and required relations lead to one', () => {
  assert.ok(
    same<
      Equal<
        Awaited<ReturnType<SystemData<Model>['users']['create']>>,
        {
          readonly id: number
          readonly name: string
          readonly email: string
          readonly role: string
          readonly disabled: boolean
          readonly created_at: string
        }
      >
    >(true),
  )
  compiled(async ({ system }) => {
    const task = await system.tasks.get(1, { include: ['project.owner'] })
    if (task !== null) is<string>()(task.project.owner.email)
    const review = await system.reviews.get(1, { include: ['by'] })
    is<string | undefined>()(review?.by?.email)
  })
})

test('conditions use fields, computed fields and relations', () => {
  const where: Where<Model, 'tasks'>[] = [
    { status: 'open', id: [1, 2], completed_at: null },
    { title: { starts_with: 'a' }, completed_at: { lt: '2026-01-01T00:00:00Z' }, or: [{ id: { gte: 3 } }] },
    { project: { open_tasks: { gt: 3 }, owner: { name: 'x' } }, not: { status: { ne: 'done' } } },
    // @ts-expect-error Unknown field.
    { titel: 'x' },
    // @ts-expect-error Not one of the values.
    { status: 'lost' },
    // @ts-expect-error A choice is not ordered.
    { status: { gt: 'open' } },
    // @ts-expect-error A number is not a text.
    { id: { contains: '1' } },
    // @ts-expect-error A user has no such field.
    { project: { owner: { surname: 'x' } } },
  ]
  assert.equal(where.length, 8)
})

test('actions and queries are methods of a client', () => {
  compiled(async ({ api }) => {
    is<Project>()(await api.projects.archive(1, { why: 'x' }))
    is<{ readonly moved: number; readonly task: Task }>()(await api.tasks.move({ task: 1, to: 2 }))
    is<void>()(await api.actions.ping())
    is<{ readonly share: number }>()(await api.queries.report({ status: 'open' }))
    is<Task>()(await api.tasks.create({ title: 'x', project_id: 1 }))
    // @ts-expect-error The input is missing.
    await api.projects.archive(1)
    // @ts-expect-error The action is one of projects.
    await api.tasks.archive(1, { why: 'x' })
    // @ts-expect-error An item is given by its id.
    await api.tasks.move({ task: 'one', to: 2 })
    // @ts-expect-error Not one of the values.
    await api.queries.report({ status: 'lost' })
  })
})

const collections = {
  projects: collection({ fields: { name: text(), points: integer({ readOnly: true, default: 0 }) } }),
  notes: collection({ fields: { text: text() } }),
}

test('`data` in an action rejects unknown names and wrong values', () => {
  const withActions = model(collections, {
    actions: {
      wrong: action({
        on: 'projects',
        input: { why: text() },
        async run({ item, input, data, emit }) {
          // @ts-expect-error A name is a text.
          await data.projects.update(item.id, { name: 1 })
          // @ts-expect-error The same applies to the service.
          await data.asSystem.projects.update(item.id, { name: 1 })
          // @ts-expect-error Callers cannot write it.
          await data.projects.update(item.id, { points: 1 })
          await data.asSystem.projects.update(item.id, { points: 1 })
          // @ts-expect-error A project needs a name.
          await data.projects.create({})
          // @ts-expect-error Unknown collection.
          await data.people.list()
          // @ts-expect-error Unknown field.
          await data.projects.list({ where: { nam: input.why } })
          // @ts-expect-error Unknown field.
          await data.projects.list({ sort: ['-nam'] })
          // @ts-expect-error Unknown field.
          await data.projects.list({ fields: ['nam'] })
          // @ts-expect-error Unknown relation.
          await data.projects.list({ include: ['owner'] })
          // @ts-expect-error Unknown input.
          assert.ok(input.what)
          // @ts-expect-error The action emits no events.
          emit('project.archived', item)
        },
      }),
    },
  })
  assert.equal(withActions.kind, 'model')
})

test('an action rejects a wrong collection, rule, input or output', () => {
  const withActions = model(collections, {
    actions: {
      // @ts-expect-error Unknown collection.
      a: action({ on: 'project', run() {} }),
      // @ts-expect-error A project has no such field.
      b: action({ on: 'projects', access: owner('nope'), run() {} }),
      // @ts-expect-error Without `on` there is no item.
      c: action({ access: field('name').eq('x'), run() {} }),
      // @ts-expect-error Unknown collection.
      d: action({ input: { x: item('nope') }, run() {} }),
      // @ts-expect-error Unknown collection.
      e: action({ output: item('nope'), run: () => 1 }),
      // @ts-expect-error A note is not a project.
      f: action({ output: item('projects'), run: ({ data }) => data.notes.create({ text: 'x' }) }),
      // @ts-expect-error A text is not a number.
      g: action({ output: { n: integer() }, run: () => ({ n: 'x' }) }),
      // @ts-expect-error The output is missing.
      h: action({ output: { n: integer() }, run: () => ({}) }),
      // @ts-expect-error No output is declared.
      i: action({ run: () => 3 }),
      // @ts-expect-error Without `on` there is no item.
      j: action({ run: ({ item }) => void item.id }),
    },
    queries: {
      // @ts-expect-error A text is not a number.
      k: query({ output: { n: integer() }, run: () => ({ n: 'x' }) }),
      // @ts-expect-error A query emits nothing.
      l: query({ run: ({ emit }) => void emit }),
    },
  })
  assert.equal(withActions.kind, 'model')
})

test('the caller of an action or a query is a user, unless the rule admits those who are not signed in', () => {
  const known = owner('owner_id')
  const declared = model(
    {
      projects: collection({
        fields: {
          name: text(),
          owner_id: relation('users'),
          partner_id: relation('oauth_apps', { optional: true }),
        },
      }),
    },
    {
      actions: {
        omitted: action({ run: ({ caller }) => is<LogicUser>()(caller) }),
        signed_in: action({ access: signedIn, run: ({ caller }) => is<LogicUser>()(caller) }),
        has_role: action({ access: role('admin'), run: ({ caller }) => is<LogicUser>()(caller) }),
        owns: action({ on: 'projects', access: known, run: ({ caller }) => is<LogicUser>()(caller) }),
        equals: action({
          on: 'projects',
          access: field('owner_id').eq(currentUser).and(field('name').eq('x')),
          run: ({ caller }) => is<LogicUser>()(caller),
        }),
        is_named: action({
          on: 'projects',
          access: related('owner', field('name').eq(callersOwn('name'))),
          run: ({ caller }) => is<LogicUser>()(caller),
        }),
        all: action({
          access: scope('x').and(anyone, signedIn),
          run: ({ caller }) => is<LogicUser>()(caller),
        }),
        some: action({
          on: 'projects',
          access: known.or(role('admin'), signedIn.and(scope('x'))),
          run: ({ caller }) => is<LogicUser>()(caller),
        }),
        open: action({ access: anyone, run: ({ caller }) => is<LogicCaller | null>()(caller) }),
        of_app: action({
          on: 'projects',
          access: field('partner_id').eq(callersOwn('app.id')),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        scoped: action({
          access: scope('x').and(firstParty),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        either: action({
          access: signedIn.or(anyone),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        one_of: action({
          on: 'projects',
          access: known.or(field('name').eq('open')),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        perhaps: action({
          on: 'projects',
          access: anyone.and(Math.random() < 0.5 ? owner('owner_id') : field('name').eq('open')),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        listed: action({
          access: anyone.and(...([] as (typeof signedIn)[])),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        negated: action({ access: not(signedIn), run: ({ caller }) => is<LogicCaller | null>()(caller) }),
        negated_part: action({
          access: not(not(signedIn)).and(scope('x')),
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
        declared_elsewhere: action({
          access: signedIn as AccessRule,
          run: ({ caller }) => is<LogicCaller | null>()(caller),
        }),
      },
      queries: {
        mine: query({ access: signedIn, run: ({ caller }) => is<LogicUser>()(caller) }),
        everyones: query({ access: anyone, run: ({ caller }) => is<LogicCaller | null>()(caller) }),
      },
    },
  )
  assert.equal(declared.kind, 'model')
})

test('the input of a job may be called `id`', () => {
  const { logic } = checkModel(
    model(collections, {
      jobs: { remind: job({ input: { id: integer() }, run: ({ input }) => is<number>()(input.id) }) },
    }),
  )
  assert.deepEqual([...(logic.jobs.get('remind')?.input.keys() ?? [])], ['id'])
})

test('an optional item may be null in the input and the output', () => {
  const withActions = model(collections, {
    actions: {
      next: action({
        input: { after: item('notes', { optional: true }) },
        output: item('notes', { optional: true }),
        run: ({ input, data }) => {
          is<number | undefined>()(input.after?.id)
          // @ts-expect-error The item may be null.
          assert.ok(input.after.id)
          return data.notes.first({ where: { id: { gt: input.after?.id ?? 0 } } })
        },
      }),
      // @ts-expect-error The item may not be null.
      some: action({ output: item('notes'), run: ({ data }) => data.notes.first() }),
      both: action({
        output: { note: item('notes', { optional: true }), project: item('projects') },
        run: () => ({ project: 1 }),
      }),
      // @ts-expect-error The project is missing.
      none: action({ output: { project: item('projects') }, run: () => ({ project: null }) }),
    },
  })
  compiled(async () => {
    const api = undefined as unknown as Client<typeof withActions>
    is<Item<typeof withActions, 'notes'> | null>()(await api.actions.next())
    is<Item<typeof withActions, 'notes'> | null>()((await api.actions.both()).note)
    await api.actions.next({ after: null })
    // @ts-expect-error An item is given by its id.
    await api.actions.next({ after: 'x' })
  })
})

test('an emitted event has the declared fields', () => {
  const emits = { 'project.moved': { fields: { to: text(), by: integer({ optional: true }) } } } as const
  const withActions = model(collections, {
    actions: {
      move: action({
        on: 'projects',
        emits,
        run({ item, emit }) {
          emit('project.moved', item, { to: 'x' })
          // @ts-expect-error A field is missing.
          emit('project.moved', item, { by: 1 })
          // @ts-expect-error A text is needed.
          emit('project.moved', item, { to: 1 })
          // @ts-expect-error The event is not declared.
          emit('project.left', item)
        },
      }),
    },
    reactions: { moved: on('project.moved', () => {}) },
  })
  assert.equal(withActions.kind, 'model')
})

test('a reaction to every event of a collection knows its items', () => {
  const withReactions = model(collections, {
    reactions: {
      a: on('project.*', ({ event }) => {
        const name: string = event.data.name
        // @ts-expect-error A project has no such field.
        const title = event.data.title
        // @ts-expect-error Only an update has the item before it.
        const former = event.previous.name
        return [name, title, former, event.previous?.name]
      }),
    },
  })
  assert.equal(withReactions.kind, 'model')
})

test('a reaction rejects an unknown type of event and an unknown field of its item', () => {
  const withReactions = model(collections, {
    reactions: {
      // @ts-expect-error Unknown item.
      a: on('projects.updated', () => {}),
      // @ts-expect-error A project has no such field.
      b: on('project.updated', ({ event }) => event.data.title),
      // @ts-expect-error No action emits this type.
      c: on('project.upd', () => {}),
      d: on('project.*', ({ event }) => event.item_id),
      e: on('*', ({ event }) => event.collection),
    },
    jobs: {
      // @ts-expect-error Unknown input.
      f: job({ input: { id: integer() }, run: ({ input }) => input.task }),
      // @ts-expect-error Unknown collection.
      g: every('day at 03:00', ({ data }) => data.tasks.list()),
    },
  })
  assert.equal(withReactions.kind, 'model')
})

const inParts = model(
  collections,
  {
    jobs: {
      remind: job({
        input: { note_id: integer(), again: integer({ default: 0 }), until: datetime({ optional: true }) },
        run: ({ input, later, now }) => void (input.again < 3 && later(now, 'remind', input)),
      }),
      nightly: every('day at 03:00', () => {}),
      sweep: job({ input: { all: choice(['yes', 'no'], { default: 'no' }) }, run: () => {} }),
    },
    reactions: { shown: on('note.shown', () => {}) },
  },
  {
    actions: {
      show: action({
        on: 'notes',
        input: { at: datetime() },
        emits: { 'note.shown': {} },
        run({ item, input, emit, later }) {
          emit('note.shown', item)
          later(input.at, 'remind', { note_id: item.id })
          later(new Date(), 'remind', { note_id: item.id, again: 1, until: null })
          later(input.at, 'nightly')
          later(input.at, 'sweep')
          later(input.at, 'sweep', { all: 'yes' })
          // @ts-expect-error Unknown job.
          later(input.at, 'remand', { note_id: item.id })
          // @ts-expect-error The input is missing.
          later(input.at, 'remind')
          // @ts-expect-error A value is missing.
          later(input.at, 'remind', { again: 1 })
          // @ts-expect-error A number is needed.
          later(input.at, 'remind', { note_id: item.text })
          // @ts-expect-error Unknown value.
          later(input.at, 'remind', { note_id: item.id, agian: 1 })
          // @ts-expect-error Not one of the values.
          later(input.at, 'sweep', { all: 'some' })
          // @ts-expect-error A scheduled job has no input.
          later(input.at, 'nightly', { note_id: item.id })
        },
      }),
    },
    reactions: {
      changed: on('note.updated', ({ event, later, now }) => {
        later(now, 'remind', { note_id: event.data.id })
        // @ts-expect-error A number is needed.
        later(now, 'remind', { note_id: event.data.text })
      }),
      seen: on('note.shown', () => {}),
      // @ts-expect-error No action emits this type.
      lost: on('note.lost', () => {}),
    },
    jobs: {
      weekly: every('monday', ({ later, now }) => {
        // @ts-expect-error Unknown job.
        later(now, 'remand')
      }),
    },
  },
)

test('the second part of the logic knows the jobs of the first', () => {
  const { logic } = checkModel(
    model(
      { notes: collections.notes },
      { jobs: { tidy: job({ run: () => {} }) } },
      { actions: { tidy_up: action({ run: ({ later, now }) => later(now, 'tidy') }) } },
    ),
  )
  assert.deepEqual([...logic.jobs.keys(), ...logic.actions.keys()], ['tidy', 'tidy_up'])
  assert.deepEqual(Object.keys(inParts.logic.jobs), ['remind', 'nightly', 'sweep', 'weekly'])
  compiled(async () => {
    const api = undefined as unknown as Client<typeof inParts>
    is<void>()(await api.notes.show(1, { at: '2026-01-01T00:00:00Z' }))
    // @ts-expect-error The input is missing.
    await api.notes.show(1)
  })
})

test('the second part of the logic, programs and tests know the actions of the first', () => {
  const withActions = model(
    collections,
    {
      actions: {
        count_notes: action({ output: { n: integer() }, run: () => ({ n: 1 }) }),
        rename: action({ on: 'notes', input: { text: text() }, output: item('notes'), run: () => 1 }),
      },
    },
    {
      actions: {
        twice: action({
          on: 'notes',
          async run({ item, actions }) {
            is<{ readonly n: number }>()(await actions.count_notes())
            const renamed: string = (await actions.rename(item.id, { text: 'x' })).text
            // @ts-expect-error The input is missing.
            await actions.rename(item.id)
            // @ts-expect-error Unknown action.
            await actions.rename_all()
            return void renamed
          },
        }),
      },
      jobs: {
        nightly: every('day', async ({ actions, data }) => {
          // @ts-expect-error Its item is missing.
          await actions.rename({ text: 'x' })
          // @ts-expect-error A text is needed.
          await data.transaction(async (_, effects) => effects.actions.rename(1, { text: 1 }))
        }),
      },
    },
  )
  compiled(async () => {
    const service = undefined as unknown as Service<typeof withActions>
    is<void>()(await service.actions.as(1).twice(1))
    is<{ readonly n: number }>()(await service.actions.count_notes())
    // @ts-expect-error The item is missing.
    await service.actions.twice()
    // @ts-expect-error Unknown action.
    await service.data.as(1).transaction(async (_, { actions }) => actions.thrice(1))
  })
})

test('a name that both parts of the logic declare is refused with its place', () => {
  const once = { jobs: { tidy: job({ run: () => {} }) } }
  assert.throws(() => model(collections, once, once), /jobs\.tidy: Both parts/)
})

test('outside a model the collections are unknown, so that any names compile', () => {
  const archive = action({ run: ({ data }) => void data.anything?.list({ where: { any: 1 } }) })
  const moved = on('note.created', ({ event }) => event.data.anything)
  const combined = model(collections, { actions: { archive }, reactions: { moved } })
  assert.equal(combined.logic.actions?.archive, archive)
})
