/** Two organisations of the tracker with an item of every collection, and the promised permissions. */
import { randomUUID } from 'node:crypto'
import type { TestService } from '../../../src/testing.ts'
import type tracker from '../../models/tracker.ts'

export type Service = TestService<typeof tracker>

/** A mark in every text of the organisation that others must not learn of. */
export const secret = 'OURSECRET'

/** Three roles in the organisation, the administrator of another one, a user of none, and an anonymous caller. */
export const roles = ['admin', 'editor', 'reader', 'foreign', 'outsider', 'anonymous'] as const
export type Role = (typeof roles)[number]

export interface Organization {
  readonly organization: number
  readonly people: {
    readonly admin: number
    readonly editor: number
    readonly reader: number
    readonly other: number
  }
  /** The id of an item of each collection. */
  readonly items: Readonly<Record<string, number>>
}

/** Creates an organisation with four members and an item of each collection. `mark`: part of every text. */
export async function organizationOf(service: Service, mark: string): Promise<Organization> {
  const { asSystem: all } = service
  const person = async (role: string) =>
    (
      await service.users.create({
        name: `${mark} ${role}`,
        email: `${mark}-${role}@example.com`.toLowerCase(),
      })
    ).id
  const people = {
    admin: await person('admin'),
    editor: await person('editor'),
    reader: await person('reader'),
    other: await person('other'),
  }
  const { id: organization } = await all.organizations.create({ name: mark })
  const join = (user_id: number, role: 'admin' | 'editor' | 'reader') =>
    all.memberships.create({ organization_id: organization, user_id, role })
  await join(people.admin, 'admin')
  await join(people.editor, 'editor')
  await join(people.reader, 'reader')
  const { id: memberships } = await join(people.other, 'reader')
  const items = await itemsOf(service, mark, organization, people.reader, memberships)
  return { organization, people, items: { ...items, users: people.other, organizations: organization } }
}

/** Creates an item of each collection that the organisation can lose. */
async function itemsOf(
  service: Service,
  mark: string,
  organization_id: number,
  author: number,
  member: number,
) {
  const { asSystem: all } = service
  const { id: projects } = await all.projects.create({ organization_id, name: mark })
  const label = async () =>
    (await all.labels.create({ organization_id, name: `${mark} ${randomUUID()}`.slice(0, 40) })).id
  const [labels, spare_labels] = [await label(), await label()]
  const { id: tasks } = await all.tasks.create({
    ...{ project_id: projects, title: mark, details: mark, assignee_id: member },
    ...{ points: 7, due_on: '2026-01-02' },
  })
  const { id: task_labels } = await all.task_labels.create({ task_id: tasks, label_id: labels })
  const { id: comments } = await all.comments.create({ task_id: tasks, body: mark, author_id: author })
  const email = `${mark}-${randomUUID()}@example.com`.toLowerCase()
  const { id: invitations } = await all.invitations.create({ organization_id, email, invited_by_id: author })
  return { projects, labels, spare_labels, tasks, task_labels, comments, invitations, memberships: member }
}

/** Creates a new item of everything that a deletion may have removed. */
export async function recreateItems(service: Service, previous: Organization): Promise<Organization> {
  const { organization, people, items } = previous
  const { asSystem: all } = service
  // An organisation may have at most 20.
  for await (const { id } of all.invitations.all({ where: { organization_id: organization } })) {
    await all.invitations.delete(id)
  }
  const membership = await all.memberships.first({
    where: { organization_id: organization, user_id: people.other },
  })
  const member =
    membership ??
    (await all.memberships.create({ organization_id: organization, user_id: people.other, role: 'reader' }))
  const created = await itemsOf(service, secret, organization, people.reader, member.id)
  return { ...previous, items: { ...items, ...created } }
}

/** A body that creates an item in the organisation. */
export function bodyOf(collection: string, { organization, items, people }: Organization): object {
  const unique = randomUUID().slice(0, 8)
  const bodies: Readonly<Record<string, object>> = {
    organizations: { name: 'Another' },
    memberships: { organization_id: organization, user_id: people.admin },
    invitations: { organization_id: organization, email: `${unique}@example.com` },
    projects: { organization_id: organization, name: 'New' },
    labels: { organization_id: organization, name: unique },
    tasks: { project_id: items.projects, title: 'New' },
    task_labels: { task_id: items.tasks, label_id: items.spare_labels },
    comments: { task_id: items.tasks, body: 'New' },
    users: { name: 'New', email: `${unique}@example.com` },
  }
  return bodies[collection] ?? {}
}

/** A change after which the item is still usable. */
export const changes: Readonly<Record<string, object>> = {
  organizations: { name: secret },
  memberships: { role: 'reader' },
  projects: { name: secret },
  labels: { name: `${secret} changed` },
  tasks: { details: secret },
  comments: { body: `${secret} changed` },
  users: { name: `${secret} other` },
}

type Permission = { readonly [operation in 'read' | 'create' | 'update' | 'delete']: readonly Role[] }

const members: readonly Role[] = ['admin', 'editor', 'reader']
const editors: readonly Role[] = ['admin', 'editor']
const admins: readonly Role[] = ['admin']
const none: readonly Role[] = []

/** The permissions on an item of the organisation as the model’s documentation promises them, independent of its rules. */
export const permissions: Readonly<Record<string, Permission>> = {
  organizations: { read: members, create: none, update: admins, delete: admins },
  memberships: { read: members, create: none, update: admins, delete: admins },
  invitations: { read: admins, create: admins, update: none, delete: admins },
  projects: { read: members, create: editors, update: editors, delete: admins },
  labels: { read: members, create: editors, update: editors, delete: editors },
  tasks: { read: members, create: editors, update: editors, delete: none },
  task_labels: { read: members, create: editors, update: none, delete: editors },
  // The reader is the author.
  comments: { read: members, create: members, update: ['reader'], delete: ['admin', 'reader'] },
  // The user is another member.
  users: { read: members, create: none, update: none, delete: none },
}

/** The roles that may call an action or a query on an item. */
export const operations: readonly {
  readonly name: string
  readonly on: string
  readonly may: readonly Role[]
  readonly method: 'POST' | 'GET'
}[] = [
  { name: 'archive', on: 'projects', may: editors, method: 'POST' },
  { name: 'trash', on: 'tasks', may: editors, method: 'POST' },
  { name: 'restore', on: 'tasks', may: admins, method: 'POST' },
  { name: 'accept', on: 'invitations', may: none, method: 'POST' },
  { name: 'report', on: 'organizations', may: members, method: 'GET' },
]
