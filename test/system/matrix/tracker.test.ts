/** The tracker: every operation by every role, on the role’s own organisation and on another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Collection } from '../../../src/model/model.ts'
import { caseCount, sampled } from '../../cases.ts'
import tracker from '../../models/tracker.ts'
import { serviceSetups } from '../../setups/databases/services.ts'
import {
  bodyOf,
  changes,
  type Organization,
  operations,
  organizationOf,
  permissions,
  type Role,
  recreateItems,
  roles,
  type Service,
  secret,
} from './tracker.ts'
import { graphqlMutations, graphqlQueries } from './tracker-graphql.ts'

const model = checkModel(tracker)
const own = [...model.collections.values()].filter(({ name }) => name in permissions)

interface Cast {
  readonly ours: Organization
  readonly ids: { readonly [role in Role]: number | undefined }
}

async function createCast(service: Service): Promise<Cast> {
  const theirs = await organizationOf(service, 'THEIRS')
  const outsider = await service.users.create({ name: 'Outsider' })
  const ours = await organizationOf(service, secret)
  const { admin, editor, reader } = ours.people
  return {
    ours,
    ids: { admin, editor, reader, foreign: theirs.people.admin, outsider: outsider.id, anonymous: undefined },
  }
}

const isInside = (role: Role) => role === 'admin' || role === 'editor' || role === 'reader'

/** A line may begin with `csv`: the answer is an export. */
function sender(service: Service, id: number | undefined) {
  return (line: string, body?: unknown) =>
    service.request(line.replace(/^csv /, ''), {
      ...(id !== undefined && { as: id }),
      ...(body !== undefined && { body }),
      ...(line.startsWith('csv ') && { headers: { accept: 'text/csv' } }),
    })
}

/** Every stored item of the organisation’s collections. */
async function dumpStored(service: Service): Promise<string> {
  const all = service.asSystem as unknown as Record<string, { list(): Promise<readonly unknown[]> }>
  return JSON.stringify(await Promise.all(own.map(({ name }) => all[name]?.list())))
}

type Send = ReturnType<typeof sender>

/** Checks the status of a refusal, and that it does not reveal the organisation to others. */
function assertRefused(
  answer: Awaited<ReturnType<Send>>,
  role: Role,
  isVisible: boolean,
  details: string,
): void {
  const expected = role === 'anonymous' ? 401 : isVisible ? 403 : 404
  assert.equal(answer.status, expected, `${details}: ${answer.text}`)
  if (!isInside(role)) assert.ok(!answer.text.includes(secret), `${details}: ${answer.text}`)
}

async function checkReads(send: Send, role: Role, { items }: Organization): Promise<void> {
  for (const { name } of own) {
    const may = permissions[name]?.read.includes(role) ?? false
    const details = `${role} reads ${name}`
    const item = await send(`GET /api/v1/${name}/${items[name]}`)
    if (may) assert.equal(item.status, 200, `${details}: ${item.text}`)
    else assertRefused(item, role, false, details)
    const list = await send(`GET /api/v1/${name}?per_page=100`)
    if (role === 'anonymous') assert.equal(list.status, 401, details)
    else {
      const ids: readonly number[] = list.body.data.map(({ id }: { id: number }) => id)
      assert.equal(ids.includes(items[name] ?? 0), may, `${details}: ${list.text}`)
    }
  }
}

interface Attempt {
  readonly verb: 'create' | 'update' | 'delete'
  readonly line: string
  readonly body: object | undefined
  readonly isVisible: boolean
}

/** A refused write must change nothing; each allowed one gets its own item. */
async function checkWrites(
  service: Service,
  send: Send,
  role: Role,
  organization: Organization,
): Promise<number> {
  let allowed = 0
  for (const { name } of own) {
    const may = permissions[name]
    const canRead = may?.read.includes(role) ?? false
    const now = await recreateItems(service, organization)
    const path = `/api/v1/${name}/${now.items[name]}`
    const attempts = [
      { verb: 'create', line: `POST /api/v1/${name}`, body: bodyOf(name, now), isVisible: true },
      { verb: 'update', line: `PATCH ${path}`, body: changes[name] ?? {}, isVisible: canRead },
      // Deleting an organisation would delete everything, so it is not tried here.
      ...(name === 'organizations'
        ? []
        : [{ verb: 'delete', line: `DELETE ${path}`, body: undefined, isVisible: canRead }]),
    ]
    for (const { verb, line, body, isVisible } of attempts as readonly Attempt[]) {
      const details = `${role} ${verb}s ${name}`
      const who = may?.[verb] ?? []
      const before = await dumpStored(service)
      const answer = await send(line, body)
      if (who.includes(role)) {
        allowed++
        assert.ok(answer.status < 300, `${details}: ${answer.text}`)
        continue
      }
      // An operation that no caller can use has no method, or is refused whether or not the item exists.
      if (who.length === 0)
        assert.ok([401, 403, 404, 405].includes(answer.status), `${details}: ${answer.text}`)
      // An invisible item cannot be referred to.
      else if (verb === 'create' && answer.body?.error.code === 'VALIDATION_FAILED')
        assert.ok(!isInside(role), details)
      else assertRefused(answer, role, isVisible, details)
      assert.ok(isInside(role) || !answer.text.includes(secret), details)
      assert.equal(await dumpStored(service), before, details)
    }
  }
  return allowed
}

async function checkOperations(
  service: Service,
  send: Send,
  role: Role,
  organization: Organization,
): Promise<void> {
  for (const { name, on, may, method } of operations) {
    const { items } = await recreateItems(service, organization)
    const line =
      method === 'POST'
        ? `POST /api/v1/${on}/${items[on]}/${name}`
        : `GET /api/v1/queries/${name}?id=${items[on]}`
    const before = await dumpStored(service)
    const answer = await send(line)
    const details = `${role} ${name}`
    if (may.includes(role)) assert.ok(answer.status < 300, `${details}: ${answer.text}`)
    else {
      assertRefused(answer, role, permissions[on]?.read.includes(role) ?? false, details)
      assert.equal(await dumpStored(service), before, details)
    }
  }
}

/** Not even an administrator of both organisations can assign a task or a label across them. */
async function checkBorders(service: Service, { ours, ids }: Cast): Promise<void> {
  const mine = await organizationOf(service, 'BRIDGE')
  await service.asSystem.memberships.create({
    ...{ organization_id: mine.organization, user_id: ours.people.admin, role: 'admin' },
  })
  const send = sender(service, ids.admin)
  const { tasks, projects } = (await recreateItems(service, ours)).items
  for (const [line, body] of [
    [`PATCH /api/v1/tasks/${tasks}`, { assignee_id: mine.items.memberships }],
    ['POST /api/v1/tasks', { project_id: projects, title: 'x', assignee_id: mine.items.memberships }],
    // The assignee is not a member there.
    [`PATCH /api/v1/tasks/${tasks}`, { project_id: mine.items.projects }],
    ['POST /api/v1/task_labels', { task_id: tasks, label_id: mine.items.labels }],
  ] as const) {
    const answer = await send(line, body)
    assert.equal(answer.status, 403, `${line}: ${answer.text}`)
  }
}

for (const { name: setup, within } of serviceSetups) {
  test(`each role has the promised permissions in its organisation, and none in others (${setup})`, async () => {
    await within(tracker, async service => {
      const cast = await createCast(service)
      for (const role of roles) {
        const send = sender(service, cast.ids[role])
        await checkReads(send, role, await recreateItems(service, cast.ours))
        const allowed = await checkWrites(service, send, role, cast.ours)
        assert.equal(allowed > 0, isInside(role), role)
        await checkOperations(service, send, role, cast.ours)
      }
      await checkBorders(service, cast)
      await checkMutations(service, cast.ids.outsider ?? 0, cast.ours.people.admin)
    })
  })

  test(`responses to others do not depend on the organisation (${setup})`, async () => {
    await within(tracker, async service => {
      const theirs = await organizationOf(service, 'THEIRS')
      const outsider = await service.users.create({ name: 'Outsider' })
      const readers = [theirs.people.admin, theirs.people.reader, outsider.id, undefined]
      const graphql = await graphqlQueries(service, theirs.people.admin)
      const lines = sampled(own.flatMap(linesOf))
      const readEverything = () =>
        Promise.all(
          readers.map(async id => {
            const send = sender(service, id)
            const answers: unknown[] = []
            for (const line of lines) answers.push([line, (await send(line)).text])
            for (const query of graphql) answers.push([query, (await send('POST /graphql', { query })).text])
            return answers
          }),
        )
      const before = await readEverything()
      const last = await service.request('GET /api/v1/events?after=0&limit=1000', { as: theirs.people.admin })
      const ours = await organizationOf(service, secret)
      await service.as(ours.people.admin).projects.archive(ours.items.projects ?? 0)
      await service.as(ours.people.admin).tasks.trash(ours.items.tasks ?? 0)
      assert.deepEqual(await readEverything(), before)
      for (const as of readers.slice(0, 3) as number[]) {
        const events = await service.request(
          `GET /api/v1/events?after=${last.body.meta.next_after}&limit=1000`,
          { as },
        )
        assert.deepEqual(events.body.data, [])
      }
      // The same requests show the organisation to its own members.
      const texts = await Promise.all(
        lines.map(async line => (await sender(service, ours.people.admin)(line)).text),
      )
      assert.ok(texts.filter(text => text.includes(secret)).length > caseCount(20, 4))
    })
  })
}

/** The fields by which a related item can be told. */
function along(target: string): readonly string[] {
  const fields = [...(model.collections.get(target)?.fields.values() ?? [])]
  return fields
    .filter(({ internal, writeOnly, type }) => !internal && !writeOnly && type.sortable)
    .map(({ name }) => name)
}

/** Ways to read a collection: items, lists, filters, sorts, relations, computed fields, aggregates. */
function linesOf({ name, fields, relations, computed }: Collection): readonly string[] {
  const base = `GET /api/v1/${name}`
  const visible = [...fields.values()].filter(({ internal, writeOnly }) => !internal && !writeOnly)
  const texts = visible.filter(
    ({ type }) => type.name === 'text' || type.name === 'string' || type.name === 'email',
  )
  const names = [...computed.keys()]
  const all = [...visible.map(field => field.name), ...names].join(',')
  return [
    ...Array.from({ length: 16 }, (_, index) => `${base}/${index + 1}`),
    `${base}?per_page=100&fields=${all}`,
    ...names.flatMap(field => [`${base}?sort=-${field},id&fields=id,${field}`, `${base}?${field}[gt]=0`]),
    ...visible.map(field => `${base}?sort=-${field.name},id&per_page=100`),
    ...texts.flatMap(field => [
      `${base}?${field.name}[icontains]=${secret}`,
      `${base}?not[${field.name}]=${secret}`,
      `${base}?or[1][${field.name}][starts_with]=${secret}&or[2][id][gt]=0`,
    ]),
    ...[...relations.keys()].flatMap(relation => [
      `${base}?include=${relation}&per_page=100`,
      `${base}?${relation}.id[gt]=0`,
      ...Array.from({ length: 9 }, (_, index) => `${base}/${index + 1}/${relation}`),
    ]),
    `${base}/aggregate?count`,
    ...visible.map(field => `${base}/aggregate?group_by=${field.name}&count`),
    ...[...relations.values()].flatMap(({ kind, name: relation, target }) =>
      kind === 'one'
        ? along(target).map(
            field => `${base}/aggregate?group_by=${relation}.${field}&max=${relation}.${field}`,
          )
        : [],
    ),
    `csv ${base}?fields=${all}`,
    `csv ${base}?fields=${all}&sort=-created_at`,
    ...texts.map(field => `csv ${base}?sort=${field.name}`),
    ...texts.map(field => `csv ${base}/aggregate?group_by=${field.name}&count`),
    `GET /api/v1/queries/report?id=1`,
    `GET /api/v1/queries/report?id=2`,
  ]
}

const refusals: ReadonlySet<unknown> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND'])

/** A user outside every organisation cannot change anything. */
async function checkMutations(service: Service, outsider: number, member: number): Promise<void> {
  const mutations = await graphqlMutations(service, member)
  assert.ok(mutations.length > 15, mutations.join('\n'))
  const before = await dumpStored(service)
  for (const as of [outsider, undefined]) {
    const send = sender(service, as)
    for (const mutation of mutations)
      for (let id = 1; id <= 8; id++) {
        const query = mutation.replace('ID_HERE', String(id))
        const { body, text } = await send('POST /graphql', { query })
        const code = body.errors?.[0].extensions?.code
        assert.ok(refusals.has(code) && !text.includes(secret), `${query}: ${text}`)
      }
  }
  assert.equal(await dumpStored(service), before)
}
