/** A project and its tasks, by nothing but the types that openapi-typescript has made. */
import createClient from 'openapi-fetch'
import { SERVICE, TOKEN, write } from './environment.js'
import type { components, paths } from './tracker-api.js'

type Schemas = components['schemas']

const client = createClient<paths, 'application/json'>({
  baseUrl: SERVICE,
  headers: { Authorization: `Bearer ${TOKEN}` },
  // As `filter` and `more_filters` are sent.
  querySerializer: { object: { style: 'form', explode: true } },
})

function given<T>({ data, error }: { data?: T; error?: Schemas['ErrorResponse'] }): T {
  if (data === undefined) throw new Error(error?.error.message)
  return data
}

async function add(task: Schemas['TaskCreate']): Promise<Schemas['Task']> {
  return given(await client.POST('/api/v1/tasks', { body: task }))
}

const found: Schemas['FoundOrganizationInput'] = { name: 'Engines' }
const organization = given(await client.POST('/api/v1/organizations/found', { body: found }))
const project = given(
  await client.POST('/api/v1/projects', { body: { organization_id: organization.id, name: 'Loom' } }),
)
const weave = await add({ project_id: project.id, title: 'Weave' })
await add({ project_id: project.id, title: 'Card', status: 'doing', due_on: '2026-12-24' })
const urgent = await client.POST('/api/v1/tasks', {
  body: { project_id: project.id, title: 'Now', urgent: true },
})
const ofProject = {
  path: { id: project.id },
  query: { filter: { 'status[ne]': 'open' as const }, sort: '-title' },
}
const doing = given(await client.GET('/api/v1/projects/{id}/tasks', { params: ofProject }))
const change: Schemas['TaskUpdate'] = { status: 'done' }
const path = { id: weave.id }
const done = given(await client.PATCH('/api/v1/tasks/{id}', { params: { path }, body: change }))
const archived = given(
  await client.POST('/api/v1/projects/{id}/archive', { params: { path: { id: project.id } } }),
)
const report: Schemas['ReportOfOrganizationOutput'] = given(
  await client.GET('/api/v1/queries/report', { params: { query: { id: organization.id } } }),
)
const groups = given(
  await client.GET('/api/v1/tasks/aggregate', { params: { query: { group_by: 'status' } } }),
)
const trashed = await client.POST('/api/v1/tasks/{id}/trash', { params: { path } })
const restored = given(await client.POST('/api/v1/tasks/{id}/restore', { params: { path } }))
const deleted = await client.DELETE('/api/v1/projects/{id}', { params: { path: { id: project.id } } })
write({
  task: [weave.title, weave.status, weave.points, weave.details],
  urgent: [urgent.error?.error.code, urgent.error?.error.details?.[0]?.field],
  doing: doing.data.map(({ title, due_on }) => [title, due_on]),
  done: done.completed_at !== null,
  archived: archived.archived_at !== null,
  report: [report.open, report.doing, report.done, report.dropped],
  groups: groups.data.map(({ count }) => count),
  trashed: trashed.response.status,
  restored: [restored.title, restored.deleted_at],
  deleted: deleted.response.status,
})
