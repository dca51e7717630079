/** Tests of the tracker from the view of its users. `node --test` runs them; they need no package but `portico`. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type TestService, testService } from 'portico/test'
import tracker from './model.ts'

type Service = TestService<typeof tracker>

/** Two organisations: Ada runs the first, where Eve edits and Rob reads; Zoe runs the second. */
async function createFixture(service: Service) {
  const person = (name: string) => service.users.create({ name, email: `${name.toLowerCase()}@example.com` })
  const ada = await person('Ada')
  const eve = await person('Eve')
  const rob = await person('Rob')
  const zoe = await person('Zoe')
  const ours = await service.as(ada).organizations.found({ name: 'Ours' })
  const theirs = await service.as(zoe).organizations.found({ name: 'Theirs' })
  const join = (user_id: number, role: 'editor' | 'reader') =>
    service.asSystem.memberships.create({ organization_id: ours.id, user_id, role })
  const [eveMembership, robMembership] = [await join(eve.id, 'editor'), await join(rob.id, 'reader')]
  const project = await service.as(eve).projects.create({ organization_id: ours.id, name: 'Garden' })
  const task = await service.as(eve).tasks.create({ project_id: project.id, title: 'Dig' })
  return { ada, eve, rob, zoe, ours, theirs, eveMembership, robMembership, project, task }
}

let service: Service
let fixture: Awaited<ReturnType<typeof createFixture>>
beforeEach(async () => {
  service = await testService(tracker, { now: '2026-05-04T09:00:00Z' })
  fixture = await createFixture(service)
})
afterEach(() => service.close())

test('shows nothing of an organisation to others', async () => {
  const zoe = service.as(fixture.zoe)
  assert.deepEqual((await zoe.projects.list()).data, [])
  assert.equal(await zoe.tasks.get(fixture.task.id), null)
  assert.equal(await zoe.tasks.count(), 0)
  assert.equal(await zoe.users.get(fixture.ada.id), null)
  await assert.rejects(zoe.projects.archive(fixture.project.id), { code: 'NOT_FOUND' })
  await assert.rejects(zoe.queries.report(fixture.ours.id), { code: 'NOT_FOUND' })
  await assert.rejects(service.anonymous.tasks.list(), { code: 'UNAUTHORIZED' })
})

test('shows an email address only to its owner', async () => {
  assert.equal((await service.as(fixture.ada).users.get(fixture.ada.id))?.email, 'ada@example.com')
  const eve = await service.as(fixture.ada).users.get(fixture.eve.id)
  assert.deepEqual([eve?.name, eve?.email ?? null], ['Eve', null])
})

test('lets readers read, and editors write', async () => {
  assert.equal(await service.as(fixture.rob).tasks.count(), 1)
  const title = { title: 'Water' }
  await assert.rejects(service.as(fixture.rob).tasks.update(fixture.task.id, title), { code: 'FORBIDDEN' })
  assert.equal((await service.as(fixture.eve).tasks.update(fixture.task.id, title)).title, 'Water')
})

test('invites by mail, and lets only the owner of the confirmed address accept', async () => {
  const { ours, ada, eve } = fixture
  const invite = { organization_id: ours.id, email: 'new@example.com' }
  await assert.rejects(service.as(eve).invitations.create(invite), { code: 'FORBIDDEN' })
  const { id } = await service.as(ada).invitations.create(invite)
  await service.settled()
  assert.deepEqual(
    service.mails.map(({ to, subject }) => [to, subject]),
    [['new@example.com', 'An invitation to Ours']],
  )
  const unconfirmed = await service.users.create({ email: 'new@example.com' }, { confirmed: false })
  await assert.rejects(service.as(unconfirmed).invitations.accept(id), { code: 'NOT_FOUND' })
  await service.asSystem.users.delete(unconfirmed.id)
  const confirmed = await service.users.create({ email: 'new@example.com' })
  const membership = await service.as(confirmed).invitations.accept(id)
  assert.deepEqual([membership.user_id, membership.role], [confirmed.id, 'editor'])
  assert.equal(await service.as(confirmed).tasks.count(), 1)
  await assert.rejects(service.as(confirmed).invitations.accept(id), { code: 'NOT_FOUND' })
})

test('assigns tasks only to members, and sends them a mail', async () => {
  const { eve, task, eveMembership, theirs } = fixture
  const [stranger] = await service.asSystem.memberships.list({ where: { organization_id: theirs.id } })
  await assert.rejects(service.as(eve).tasks.update(task.id, { assignee_id: stranger?.id ?? 0 }))
  await service.as(eve).tasks.update(task.id, { assignee_id: eveMembership.id })
  await service.as(eve).tasks.update(task.id, { points: 3 })
  await service.settled()
  assert.deepEqual(
    service.mails.map(({ to, subject }) => [to, subject]),
    [['eve@example.com', 'Assigned to you: Dig']],
  )
})

test('stores when a task was completed', async () => {
  const eve = service.as(fixture.eve)
  service.clock.advance({ hours: 2 })
  const done = await eve.tasks.update(fixture.task.id, { status: 'done' })
  assert.equal(done.completed_at, '2026-05-04T11:00:00.000Z')
  assert.equal((await eve.tasks.update(fixture.task.id, { status: 'open' })).completed_at, null)
})

test('requires a due date for urgent tasks', async () => {
  const { eve, task } = fixture
  await assert.rejects(service.as(eve).tasks.update(task.id, { urgent: true }), {
    code: 'VALIDATION_FAILED',
    details: [{ field: 'due_on', code: 'invalid', message: 'An urgent task needs a due date.' }],
  })
  await service.as(eve).tasks.update(task.id, { urgent: true, due_on: '2026-05-05' })
})

test('limits a project to 100 unfinished tasks', async () => {
  const { eve, project, task } = fixture
  const add = (title: string) => service.as(eve).tasks.create({ project_id: project.id, title })
  for (let n = 1; n < 100; n++) await add(`Task ${n}`)
  await assert.rejects(add('One more'), { code: 'CONFLICT' })
  await service.as(eve).tasks.update(task.id, { status: 'done' })
  await add('One more')
})

test('counts open and completed tasks', async () => {
  const { eve, project, task } = fixture
  await service.as(eve).tasks.create({ project_id: project.id, title: 'Sow' })
  await service.as(eve).tasks.update(task.id, { status: 'done' })
  const counts = await service.as(eve).projects.get(project.id, { fields: ['open_tasks', 'done_tasks'] })
  assert.deepEqual(counts, { open_tasks: 1, done_tasks: 1 })
  assert.deepEqual(await service.as(eve).queries.report(fixture.ours.id), {
    open: 1,
    doing: 0,
    done: 1,
    dropped: 0,
  })
})

test('lets a comment be edited for 15 minutes, by its author', async () => {
  const { ada, rob, task } = fixture
  const { id } = await service.as(rob).comments.create({ task_id: task.id, body: 'Where?' })
  await assert.rejects(service.as(ada).comments.update(id, { body: 'No' }), { code: 'FORBIDDEN' })
  service.clock.advance({ minutes: 15 })
  await service.as(rob).comments.update(id, { body: 'Where exactly?' })
  service.clock.advance({ seconds: 1 })
  await assert.rejects(service.as(rob).comments.update(id, { body: 'Here' }), { code: 'FORBIDDEN' })
  await assert.rejects(service.as(rob).comments.create({ task_id: task.id, body: ' ' }), {
    code: 'VALIDATION_FAILED',
  })
})

test('accepts only labels of the same organisation on a task', async () => {
  const { eve, zoe, ours, theirs, task } = fixture
  const label = await service.as(eve).labels.create({ organization_id: ours.id, name: 'Soil' })
  const foreign = await service.as(zoe).labels.create({ organization_id: theirs.id, name: 'Soil' })
  await service.as(eve).task_labels.create({ task_id: task.id, label_id: label.id })
  await assert.rejects(service.as(eve).task_labels.create({ task_id: task.id, label_id: foreign.id }))
  await assert.rejects(service.as(zoe).task_labels.create({ task_id: task.id, label_id: foreign.id }))
})

test('archives a project, and drops its unfinished tasks', async () => {
  const { rob, eve, project, task } = fixture
  await assert.rejects(service.as(rob).projects.archive(project.id), { code: 'FORBIDDEN' })
  const archived = await service.as(eve).projects.archive(project.id)
  assert.equal(archived.archived_at, '2026-05-04T09:00:00.000Z')
  assert.equal((await service.as(eve).tasks.get(task.id))?.status, 'dropped')
  const late = { project_id: project.id, title: 'Late' }
  await assert.rejects(service.as(eve).tasks.create(late), { code: 'FORBIDDEN' })
  const events = await service.request('GET /api/v1/events?after=0&types=project.archived', { as: rob })
  assert.deepEqual(events.body.data[0].values, { dropped: 1 })
})

test('hides a task in the trash from everybody but administrators, and deletes it after 30 days', async () => {
  const { ada, eve, task } = fixture
  await service.as(eve).tasks.trash(task.id)
  assert.equal(await service.as(eve).tasks.get(task.id), null)
  assert.equal((await service.as(ada).tasks.restore(task.id)).deleted_at, null)
  await service.settled()
  await service.as(eve).tasks.trash(task.id)
  service.clock.advance({ days: 29 })
  await service.settled()
  assert.equal(await service.asSystem.tasks.count(), 1)
  service.clock.advance({ days: 2 })
  await service.settled()
  assert.equal(await service.asSystem.tasks.count(), 0)
})
