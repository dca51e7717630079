/** A project and its tasks, by nothing but the functions and types that hey-api has made. */
import { SERVICE, TOKEN, write } from './environment.js'
import { client } from './tracker-api/client.gen.js'
import type {
  ErrorResponse,
  FoundOrganizationInput,
  ReportOfOrganizationOutput,
  Task,
  TaskCreate,
  TaskUpdate,
} from './tracker-api/index.js'
import {
  aggregateTasks,
  archiveProject,
  createProject,
  createTask,
  deleteProject,
  foundOrganization,
  listTasksOfProject,
  reportOfOrganization,
  restoreTask,
  trashTask,
  updateTask,
} from './tracker-api/index.js'

// As `filter` and `more_filters` are sent.
const querySerializer = { object: { style: 'form', explode: true } } as const
client.setConfig({ baseUrl: SERVICE, auth: TOKEN, querySerializer })

function given<T>({ data, error }: { data?: T; error?: ErrorResponse }): T {
  if (data === undefined) throw new Error(error?.error.message)
  return data
}

async function add(body: TaskCreate): Promise<Task> {
  return given(await createTask({ body }))
}

const engines: FoundOrganizationInput = { name: 'Engines' }
const organization = given(await foundOrganization({ body: engines }))
const project = given(await createProject({ body: { organization_id: organization.id, name: 'Loom' } }))
const weave = await add({ project_id: project.id, title: 'Weave' })
await add({ project_id: project.id, title: 'Card', status: 'doing', due_on: '2026-12-24' })
const urgent = await createTask({ body: { project_id: project.id, title: 'Now', urgent: true } })
const doing = given(
  await listTasksOfProject({
    path: { id: project.id },
    query: { filter: { 'status[ne]': 'open' }, sort: '-title' },
  }),
)
const change: TaskUpdate = { status: 'done' }
const path = { id: weave.id }
const done = given(await updateTask({ path, body: change }))
const archived = given(await archiveProject({ path: { id: project.id } }))
const report: ReportOfOrganizationOutput = given(
  await reportOfOrganization({ query: { id: organization.id } }),
)
const groups = given(await aggregateTasks({ query: { group_by: 'status' } }))
const trashed = await trashTask({ path })
const restored = given(await restoreTask({ path }))
const deleted = await deleteProject({ path: { id: project.id } })
write({
  task: [weave.title, weave.status, weave.points, weave.details],
  urgent: [urgent.error?.error.code, urgent.error?.error.details?.[0]?.field],
  doing: doing.data.map(({ title, due_on }) => [title, due_on]),
  done: done.completed_at !== null,
  archived: archived.archived_at !== null,
  report: [report.open, report.doing, report.done, report.dropped],
  groups: groups.data.map(({ count }) => count),
  trashed: trashed.response?.status,
  restored: [restored.title, restored.deleted_at],
  deleted: deleted.response?.status,
})
