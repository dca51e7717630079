/** A project and its task, by nothing but the functions and types that openapi-generator has made. */

import { Configuration, OrganizationsApi, ProjectsApi, TaskStatus, TasksApi } from './client'
import { SERVICE, TOKEN, write } from './environment'

async function main(): Promise<void> {
  const configuration = new Configuration({ basePath: SERVICE, accessToken: TOKEN })
  const tasks = new TasksApi(configuration)
  const organization = await new OrganizationsApi(configuration).foundOrganization({
    foundOrganizationInput: { name: 'Engines' },
  })
  const project = await new ProjectsApi(configuration).createProject({
    projectCreate: { organizationId: organization.id, name: 'Loom' },
  })
  const created = await tasks.createTask({
    taskCreate: { projectId: project.id, title: 'Weave', status: TaskStatus.TaskStatusDoing },
  })
  const updated = await tasks.updateTask({
    id: created.id,
    taskUpdate: { status: TaskStatus.TaskStatusDone, details: null },
  })
  const { data } = await tasks.listTasksOfProject({ id: project.id })
  await tasks.trashTask({ id: created.id })
  const trashed = await tasks.getTask({ id: created.id })
  write({
    created: [created.title, created.status, created.points],
    updated: [updated.status, updated.details],
    listed: data.map(({ title }) => title),
    trashed: trashed.deletedAt instanceof Date,
  })
}

void main()
