/** The types of the client with both example models and with generated types, checked by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client, CreateOf, EventOf, ItemOf, UpdateOf, WhereOf } from '../../src/client.ts'
import type blog from '../models/blog.ts'
import type tracker from '../models/tracker.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if the value has exactly this type. */
const is =
  <Expected>() =>
  <Given>(_value: Given & (Equal<Given, Expected> extends true ? unknown : never)) => {}

/** Only the compiler reads the function. */
const compiled = <M>(_work: (api: Client<M>) => unknown) => assert.ok(true)

type Status = 'open' | 'doing' | 'done' | 'dropped'

interface Post {
  readonly id: number
  readonly title: string
  readonly body: string | null
  readonly author_id: number
  readonly created_at: string
}

interface Task {
  readonly id: number
  readonly title: string
  readonly project_id: number
  readonly details: string | null
  readonly status: Status
  readonly points: number
  readonly due_on: string | null
  readonly urgent: boolean
  readonly assignee_id: number | null
  readonly completed_at: string | null
  readonly deleted_at: string | null
  readonly created_at: string
}

type Same<A> = { [K in keyof A]: A[K] }

test('an export is text or items, by its format', () => {
  compiled<typeof blog>(async api => {
    for await (const text of api.posts.export({ format: 'csv', where: { title: 'x' }, sort: ['-id'] }))
      is<string>()(text)
    for await (const post of api.posts.export({ format: 'ndjson' })) is<Same<Post>>()(post)
    for await (const post of api.posts.export({ format: 'ndjson', fields: ['title'], include: ['author'] }))
      is<string | undefined>()(post.author?.name)
    // @ts-expect-error: there is no such format.
    api.posts.export({ format: 'xlsx' })
    // @ts-expect-error: the format has no default.
    api.posts.export({ sort: ['id'] })
    // @ts-expect-error: there is no such field.
    api.posts.export({ format: 'csv', sort: ['missing'] })
    // @ts-expect-error: an export is no part of a batch.
    api.batch(tx => [tx.posts.export({ format: 'csv' })])
  })
})

test('a list has the envelope of REST', () => {
  compiled<typeof blog>(async api => {
    const { data, meta } = await api.posts.list({
      where: {
        title: { contains: 'x' },
        created_at: { gte: '2026-01-01T00:00:00Z' },
        author: { name: 'Ada' },
      },
      sort: ['-created_at', 'title'],
      q: 'garden',
      page: 2,
      perPage: 10,
    })
    is<readonly Same<Post>[]>()(data)
    is<number>()(meta.total)
    const walked = await api.posts.list({ cursor: '' })
    is<string | null>()(walked.meta.next_cursor)
    const uncounted = await api.posts.list({ total: 'none' })
    is<undefined>()(uncounted.meta.total)
    // @ts-expect-error A page and a cursor exclude each other.
    await api.posts.list({ cursor: '', page: 2 })
    // @ts-expect-error There is no such collection.
    await api.post.list()
    // @ts-expect-error There is no such field to sort by.
    await api.posts.list({ sort: ['-titel'] })
  })
})

test('an item has the selected fields and included relations', () => {
  compiled<typeof tracker>(async api => {
    is<Same<Task> | null>()(await api.tasks.get(1))
    is<{ readonly title: string; readonly comment_count: number } | null>()(
      await api.tasks.get(1, { fields: ['title', 'comment_count'] }),
    )
    const all = await api.tasks.first({ fields: ['*', 'comment_count'] })
    is<string | undefined>()(all?.title)
    is<number | undefined>()(all?.comment_count)
    const task = await api.tasks.get(1, { include: ['project.organization', 'comments'] })
    is<string | undefined>()(task?.project?.organization?.name)
    is<string | undefined>()(task?.comments[0]?.body)
    for await (const { id, project } of api.tasks.all({ include: ['project'] })) {
      is<number>()(id)
      is<string | undefined>()(project?.name)
    }
    const user = await api.me()
    is<string | null | undefined>()(user.email)
    // @ts-expect-error A computed field must be selected.
    task?.comment_count
    // @ts-expect-error There is no such relation.
    await api.tasks.get(1, { include: ['owner'] })
    // @ts-expect-error There is no such relation of projects.
    await api.tasks.get(1, { include: ['project.owner'] })
    // @ts-expect-error There is no such field.
    await api.tasks.get(1, { fields: ['titel'] })
    // @ts-expect-error Ids are numbers.
    await api.tasks.get('1')
  })
})

test('conditions name fields, computed fields and relations', () => {
  compiled<typeof tracker>(api => [
    api.tasks.list({ where: { status: 'open', id: [1, 2], completed_at: null } }),
    api.tasks.list({ where: { status: ['open', 'doing'], not: { urgent: true } } }),
    api.tasks.list({ where: { or: [{ points: { gte: 3 } }, { project: { organization: { name: 'x' } } }] } }),
    api.projects.list({
      where: { open_tasks: { gt: 3 }, tasks: { status: 'doing', comments: { body: 'x' } } },
    }),
    api.tasks.count({ not: [{ status: 'done' }, { urgent: true }] }),
    // @ts-expect-error There is no such field.
    api.tasks.list({ where: { titel: 'x' } }),
    // @ts-expect-error It is none of the values.
    api.tasks.list({ where: { status: 'lost' } }),
    // @ts-expect-error A choice is not ordered.
    api.tasks.list({ where: { status: { gt: 'open' } } }),
    // @ts-expect-error A number does not contain a text.
    api.tasks.list({ where: { points: { contains: '3' } } }),
    // @ts-expect-error There is no such field of the related item.
    api.tasks.list({ where: { project: { title: 'x' } } }),
    // @ts-expect-error Alternatives do not nest.
    api.tasks.list({ where: { or: [{ or: [{ status: 'open' }] }] } }),
  ])
})

test('bodies have the writable fields', () => {
  compiled<typeof tracker>(async api => {
    is<Same<Task>>()(await api.tasks.create({ project_id: 1, title: 'Dig', due_on: null }))
    const created = await api.tasks.create({ project_id: 1, title: 'Dig' }, { include: ['project'] })
    is<string | undefined>()(created.project?.name)
    await api.tasks.update(1, { status: 'done' }, { ifMatch: '"x"', idempotencyKey: 'k' })
    await api.tasks.replace(1, { project_id: 1, title: 'Dig' })
    is<readonly Same<Task>[]>()(await api.tasks.createMany([{ project_id: 1, title: 'Dig' }]))
    is<void>()(await api.tasks.delete(1))
    is<string>()((await api.api_keys.create({ name: 'For a script' })).key)
    // @ts-expect-error The title is missing.
    await api.tasks.create({ project_id: 1 })
    // @ts-expect-error It is none of the values.
    await api.tasks.update(1, { status: 'lost' })
    // @ts-expect-error It is read-only.
    await api.tasks.update(1, { completed_at: null })
    // @ts-expect-error It is immutable.
    await api.projects.update(1, { organization_id: 2 })
    // @ts-expect-error There is no such field.
    await api.tasks.create({ project_id: 1, title: 'x', colour: 'red' })
    // @ts-expect-error It cannot be null.
    await api.tasks.update(1, { title: null })
  })
})

test('actions and queries are functions', () => {
  compiled<typeof tracker>(async api => {
    const founded = await api.organizations.found({ name: 'Ours' })
    is<string>()(founded.name)
    is<string | null>()((await api.projects.archive(1)).archived_at)
    is<void>()(await api.tasks.trash(1, {}, { retries: 0 }))
    is<{ readonly open: number; readonly doing: number; readonly done: number; readonly dropped: number }>()(
      await api.queries.report(1),
    )
    // @ts-expect-error The input is missing.
    await api.organizations.found()
    // @ts-expect-error The input has no such value.
    await api.organizations.found({ title: 'Ours' })
    // @ts-expect-error The id is missing.
    await api.projects.archive()
    // @ts-expect-error It takes no input.
    await api.projects.archive(1, { why: 'old' })
    // @ts-expect-error It is an action of projects.
    await api.tasks.archive(1)
    // @ts-expect-error There is no such query.
    await api.queries.reports(1)
  })
})

test('aggregates have the requested fields', () => {
  compiled<typeof tracker>(async api => {
    const { data } = await api.tasks.aggregate({
      groupBy: ['status', 'created_at:month', 'project.name'],
      timeZone: 'Europe/Berlin',
      sum: ['points'],
      max: ['due_on'],
      sort: ['-sum.points', 'status'],
    })
    const [group] = data
    is<Status | null | undefined>()(group?.status)
    is<string | null | undefined>()(group?.['created_at:month'])
    is<string | null | undefined>()(group?.['project.name'])
    is<number | undefined>()(group?.count)
    is<number | null | undefined>()(group?.sum.points)
    is<string | null | undefined>()(group?.max.due_on)
    const byTask = await api.comments.aggregate({ groupBy: ['task.status'], sum: ['task.points'] })
    is<Status | null | undefined>()(byTask.data[0]?.['task.status'])
    is<number | null | undefined>()(byTask.data[0]?.sum['task.points'])
    // @ts-expect-error It leads to several items.
    await api.projects.aggregate({ groupBy: ['tasks.title'] })
    // @ts-expect-error A text has no sum.
    await api.tasks.aggregate({ sum: ['title'] })
    // @ts-expect-error It is not grouped by this field.
    group?.title
    // @ts-expect-error This aggregate was not requested.
    await api.tasks.aggregate({ sum: ['points'], sort: ['max.points'] })
  })
})

test('events are distinguished by their type', () => {
  compiled<typeof tracker>(async api => {
    for await (const event of api.tasks.subscribe({ after: '7', where: { urgent: true } })) {
      is<'tasks'>()(event.collection)
      if (event.type === 'task.deleted') is<Same<Task> | null>()(event.data)
      else is<Same<Task>>()(event.data)
      if (event.type === 'task.updated') is<readonly (keyof Task)[]>()(event.changed)
    }
    for await (const event of api.projects.subscribe({ types: ['project.archived', 'project.*'] }))
      if (event.type === 'project.archived') is<number>()(event.values.dropped)
    for await (const event of api.events.subscribe({ collections: ['tasks', 'comments'] })) {
      is<'tasks' | 'comments'>()(event.collection)
      if (event.type === 'comment.created') is<string>()(event.data.body)
    }
    is<string>()((await api.events.list()).meta.next_after)
    // @ts-expect-error There is no such type.
    api.tasks.subscribe({ types: ['task.moved'] })
    // @ts-expect-error There is no such collection.
    api.events.subscribe({ collections: ['task'] })
  })
})

test('a batch returns the result of each of its calls', () => {
  compiled<typeof tracker>(async api => {
    const [task, organization, report] = await api.batch(tx => [
      tx.tasks.create({ project_id: 1, title: 'Dig' }),
      tx.projects.get(1),
      tx.queries.report(1),
    ])
    is<Same<Task>>()(task)
    is<string | undefined>()(organization?.name)
    is<number>()(report.open)
    // @ts-expect-error Events cannot be read in a batch.
    await api.batch(tx => [tx.tasks.subscribe()])
    // @ts-expect-error The title is missing.
    await api.batch(tx => [tx.tasks.create({ project_id: 1 })])
  })
})

/** As `portico generate client` writes it. */
interface Api {
  collections: {
    notes: {
      singular: 'note'
      item: { id: number; text: string; book_id: number }
      computed: { length: number }
      create: { text: string; book_id: number }
      update: { text?: string }
      one: { book: 'books' }
      many: Record<never, never>
      actions: { pin: { target: 'item'; input: { top: boolean }; output: undefined } }
      emits: { 'note.pinned': { top: boolean } }
    }
    books: {
      singular: 'book'
      item: { id: number; name: string }
      computed: Record<never, never>
      create: { name: string }
      update: { name?: string }
      one: Record<never, never>
      many: { notes: 'notes' }
      actions: Record<never, never>
      emits: Record<never, never>
    }
    users: {
      singular: 'user'
      item: { id: number; name: string }
      computed: Record<never, never>
      create: { name: string }
      update: { name?: string }
      one: Record<never, never>
      many: Record<never, never>
      actions: Record<never, never>
      emits: Record<never, never>
    }
  }
  actions: { ping: { target: 'none'; input: { text?: string }; output: { pong: string } } }
  queries: Record<never, never>
}

test('parts of the API have named types', () => {
  is<ItemOf<typeof tracker, 'tasks'>>()({} as Same<Task>)
  is<ItemOf<Api, 'books'>>()({ id: 1, name: 'x' } as { id: number; name: string })
  is<CreateOf<Api, 'books'>>()({ name: 'x' } as { name: string })
  is<UpdateOf<Api, 'books'>>()({} as { name?: string })
  is<'created' | 'updated' | 'deleted'>()(
    '' as EventOf<Api, 'books'>['type'] extends `book.${infer Kind}` ? Kind : never,
  )
  const where: readonly WhereOf<typeof tracker, 'tasks'>[] = [
    { status: 'open' },
    // @ts-expect-error There is no such field.
    { titel: 'x' },
  ]
  assert.equal(where.length, 2)
})

test('generated types have the same effect', () => {
  compiled<Api>(async api => {
    const note = await api.notes.get(1, { include: ['book.notes'] })
    is<string | undefined>()(note?.book?.notes[0]?.text)
    await api.books.list({ where: { notes: { text: { icontains: 'x' } } }, sort: ['-name'] })
    await api.notes.pin(1, { top: true })
    is<string>()((await api.actions.ping()).pong)
    is<string>()((await api.me()).name)
    for await (const event of api.events.subscribe())
      if (event.type === 'note.pinned') is<boolean>()(event.values.top)
    // @ts-expect-error The input is missing.
    await api.notes.pin(1)
    // @ts-expect-error There is no such field.
    await api.books.create({ title: 'x' })
    // @ts-expect-error There is no such collection.
    await api.pages.list()
  })
})
