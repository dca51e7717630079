/** A task tracker. Members of an organisation plan projects and tasks, and see nothing of other organisations. */
import {
  action,
  atMost,
  boolean,
  caller,
  choice,
  collection,
  count,
  currentUser,
  date,
  datetime,
  email,
  every,
  field,
  integer,
  item,
  model,
  nobody,
  now,
  on,
  owner,
  query,
  related,
  relation,
  role,
  signedIn,
  string,
  text,
  unique,
  users,
} from 'portico'

/** Rules for an organisation, by the caller's role in it. */
const isMember = related('memberships', owner('user_id'))
const isEditor = related('memberships', owner('user_id').and(field('role').in(['admin', 'editor'])))
const isAdmin = related('memberships', owner('user_id').and(field('role').eq('admin')))

/** The same rules for items that belong to an organisation, and for items of a project. */
const isOrganizationMember = related('organization', isMember)
const isOrganizationEditor = related('organization', isEditor)
const isOrganizationAdmin = related('organization', isAdmin)
const isProjectMember = related('project', isOrganizationMember)
const isProjectEditor = related('project', isOrganizationEditor)

const notDeleted = field('deleted_at').eq(null)
const unfinished = field('status').in(['open', 'doing']).and(notDeleted)

export default model(
  {
    users: users({
      description:
        'User accounts. Users see themselves and the members of their organisations, but only their own email address. Administrators see everything.',
      fields: { email: { access: { read: owner('id').or(role('admin')) } } },
      access: { read: owner('id').or(role('admin'), related('memberships', isOrganizationMember)) },
    }),

    organizations: collection({
      description:
        'A group of people who work together, such as a company or a club. Created by the action `found`.',
      fields: { name: string({ max: 100 }) },
      computed: {
        members: count('memberships'),
        active_projects: count('projects', field('archived_at').eq(null)),
      },
      access: { read: isMember, create: nobody, update: isAdmin, delete: isAdmin },
    }),

    memberships: collection({
      description:
        'The members of an organisation and their roles. Created by the actions `found` and `accept`.',
      fields: {
        organization_id: relation('organizations', {
          inverse: 'memberships',
          onDelete: 'cascade',
          immutable: true,
        }),
        user_id: relation('users', { inverse: 'memberships', onDelete: 'cascade', immutable: true }),
        role: choice(['admin', 'editor', 'reader'], { default: 'editor' }),
      },
      indexes: [unique('organization_id', 'user_id')],
      access: {
        read: isOrganizationMember,
        create: nobody,
        update: isOrganizationAdmin,
        delete: owner('user_id').or(isOrganizationAdmin),
      },
    }),

    invitations: collection({
      description:
        'Invitations to an organisation, sent by email. Users accept an invitation to their own confirmed address.',
      fields: {
        organization_id: relation('organizations', {
          inverse: 'invitations',
          onDelete: 'cascade',
          immutable: true,
        }),
        email: email({ immutable: true }),
        role: choice(['admin', 'editor', 'reader'], { default: 'editor' }),
        invited_by_id: relation('users', {
          inverse: 'sent_invitations',
          onDelete: 'cascade',
          default: currentUser,
          readOnly: true,
        }),
      },
      indexes: [unique('organization_id', 'email')],
      limits: [
        atMost(20, {
          per: 'organization_id',
          message: 'An organisation can have at most 20 open invitations.',
        }),
      ],
      access: {
        read: isOrganizationAdmin.or(field('email').eq(caller('email'))),
        create: isOrganizationAdmin,
        delete: isOrganizationAdmin.or(field('email').eq(caller('email'))),
      },
    }),

    projects: collection({
      fields: {
        organization_id: relation('organizations', {
          inverse: 'projects',
          onDelete: 'cascade',
          immutable: true,
        }),
        name: string({ max: 100 }),
        archived_at: datetime({
          optional: true,
          readOnly: true,
          description: 'Set by the action `archive`.',
        }),
      },
      computed: {
        open_tasks: count('tasks', unfinished),
        done_tasks: count('tasks', field('status').eq('done').and(notDeleted)),
      },
      access: {
        read: isOrganizationMember,
        create: isOrganizationEditor,
        update: isOrganizationEditor,
        delete: isOrganizationAdmin,
      },
    }),

    labels: collection({
      fields: {
        organization_id: relation('organizations', {
          inverse: 'labels',
          onDelete: 'cascade',
          immutable: true,
        }),
        name: string({ max: 40 }),
      },
      indexes: [unique('organization_id', 'name')],
      access: {
        read: isOrganizationMember,
        create: isOrganizationEditor,
        update: isOrganizationEditor,
        delete: isOrganizationEditor,
      },
    }),

    tasks: collection({
      description:
        'Tasks of a project. The action `trash` hides a task; for 30 days, an administrator of the organisation can `restore` it.',
      fields: {
        project_id: relation('projects', { inverse: 'tasks', onDelete: 'cascade' }),
        title: string({ max: 200 }),
        details: text({ optional: true }),
        status: choice(['open', 'doing', 'done', 'dropped'], { default: 'open' }),
        points: integer({ min: 0, max: 100, default: 1 }),
        due_on: date({ optional: true }),
        urgent: boolean({ default: false }),
        assignee_id: relation('memberships', { inverse: 'tasks', onDelete: 'clear', optional: true }),
        completed_at: datetime({ optional: true, readOnly: true }),
        deleted_at: datetime({ optional: true, readOnly: true }),
      },
      computed: { comment_count: count('comments') },
      limits: [
        atMost(100, {
          per: 'project_id',
          where: unfinished,
          message: 'A project can have at most 100 unfinished tasks.',
        }),
      ],
      prepare({ next, previous, now }) {
        if (next.status === previous?.status) return {}
        return { completed_at: next.status === 'done' ? now : null }
      },
      check({ next }) {
        if (!next.urgent || next.due_on !== null) return []
        return [{ field: 'due_on', message: 'An urgent task needs a due date.' }]
      },
      access: {
        read: isProjectMember.and(notDeleted.or(related('project', isOrganizationAdmin))),
        create: isProjectEditor.and(
          field('project.archived_at').eq(null),
          // Only members of the task's organisation can be assigned.
          field('assignee_id')
            .eq(null)
            .or(field('assignee.organization_id').eq(field('project.organization_id'))),
        ),
        update: isProjectEditor.and(
          notDeleted,
          field('assignee_id')
            .eq(null)
            .or(field('assignee.organization_id').eq(field('project.organization_id'))),
        ),
        delete: nobody,
      },
    }),

    task_labels: collection({
      fields: {
        task_id: relation('tasks', { inverse: 'task_labels', onDelete: 'cascade', immutable: true }),
        label_id: relation('labels', { inverse: 'task_labels', onDelete: 'cascade', immutable: true }),
      },
      indexes: [unique('task_id', 'label_id')],
      access: {
        read: related('task', isProjectMember.and(notDeleted)),
        create: related('task', isProjectEditor).and(
          field('label.organization_id').eq(field('task.project.organization_id')),
        ),
        delete: related('task', isProjectEditor),
      },
    }),

    comments: collection({
      description: 'Comments on a task. Authors can edit their comments for 15 minutes.',
      updatedAt: true,
      fields: {
        task_id: relation('tasks', { inverse: 'comments', onDelete: 'cascade', immutable: true }),
        author_id: relation('users', {
          inverse: 'comments',
          onDelete: 'cascade',
          default: currentUser,
          readOnly: true,
        }),
        body: text({ max: 10_000 }),
      },
      check: ({ next }) =>
        next.body.trim() === '' ? [{ field: 'body', message: 'A comment must not be empty.' }] : [],
      access: {
        read: related('task', isProjectMember.and(notDeleted)),
        create: owner('author_id').and(related('task', isProjectMember.and(notDeleted))),
        update: owner('author_id').and(
          field('created_at').gte(now.minus({ minutes: 15 })),
          related('task', isProjectMember.and(notDeleted)),
        ),
        delete: owner('author_id').or(related('task', related('project', isOrganizationAdmin))),
      },
    }),
  },
  {
    actions: {
      found: action({
        of: 'organizations',
        description: 'Creates an organisation with the caller as its first administrator.',
        input: { name: string({ max: 100 }) },
        output: item('organizations'),
        access: signedIn,
        async run({ input, caller, data }) {
          const organization = await data.asSystem.organizations.create({ name: input.name })
          await data.asSystem.memberships.create({
            organization_id: organization.id,
            user_id: caller.id,
            role: 'admin',
          })
          return organization
        },
      }),
      accept: action({
        on: 'invitations',
        description: 'Accepts an invitation: makes the caller a member, and deletes the invitation.',
        output: item('memberships'),
        access: field('email').eq(caller('email')),
        async run({ item: { id, organization_id, role }, caller, data }) {
          await data.asSystem.invitations.delete(id)
          return data.asSystem.memberships.create({ organization_id, user_id: caller.id, role })
        },
      }),
      archive: action({
        on: 'projects',
        description: 'Archives a project: sets its unfinished tasks to `dropped`, and allows no new tasks.',
        output: item('projects'),
        access: isOrganizationEditor,
        emits: { 'project.archived': { fields: { dropped: integer() } } },
        async run({ item: project, data, now, emit }) {
          const where = { project_id: project.id, status: ['open', 'doing'] as const }
          let dropped = 0
          for await (const { id } of data.asSystem.tasks.all({ where })) {
            await data.asSystem.tasks.update(id, { status: 'dropped' })
            dropped++
          }
          emit('project.archived', project, { dropped })
          return data.asSystem.projects.update(project.id, { archived_at: now })
        },
      }),
      trash: action({
        on: 'tasks',
        description: 'Hides a task, and deletes it after 30 days.',
        access: isProjectEditor,
        async run({ item, data, now }) {
          await data.asSystem.tasks.update(item.id, { deleted_at: now })
        },
      }),
      restore: action({
        on: 'tasks',
        description: 'Restores a task from the trash.',
        output: item('tasks'),
        access: related('project', isOrganizationAdmin),
        run: ({ item, data }) => data.asSystem.tasks.update(item.id, { deleted_at: null }),
      }),
    },

    queries: {
      report: query({
        on: 'organizations',
        description: 'The number of tasks by status.',
        output: { open: integer(), doing: integer(), done: integer(), dropped: integer() },
        access: isMember,
        async run({ item: { id }, data }) {
          const tasks = (status: 'open' | 'doing' | 'done' | 'dropped') =>
            data.tasks.count({ status, project: { organization_id: id } })
          return {
            open: await tasks('open'),
            doing: await tasks('doing'),
            done: await tasks('done'),
            dropped: await tasks('dropped'),
          }
        },
      }),
    },

    reactions: {
      invited: on('invitation.created', async ({ event, data, mail }) => {
        const organization = await data.organizations.get(event.data.organization_id)
        if (organization === null) return
        await mail.send({
          to: event.data.email,
          subject: `An invitation to ${organization.name}`,
          text: `Sign in with this address, and accept invitation ${event.item_id}.`,
        })
      }),
      assigned: on(['task.created', 'task.updated'], async ({ event, data, mail }) => {
        if (event.changed !== null && !event.changed.includes('assignee_id')) return
        const { assignee_id, title } = event.data
        if (assignee_id === null) return
        const assignee = await data.memberships.get(assignee_id, { include: ['user'] })
        if (!assignee?.user) return
        await mail.send({
          to: assignee.user.email ?? '',
          subject: `Assigned to you: ${title}`,
          text: `Task ${event.item_id} has been assigned to you.`,
        })
      }),
    },

    jobs: {
      clean_up: every('day at 03:00', { timeZone: 'Europe/Berlin' }, async ({ data, now }) => {
        const monthAgo = new Date(Date.parse(now) - 30 * 24 * 60 * 60 * 1000).toISOString()
        for await (const { id } of data.tasks.all({ where: { deleted_at: { lt: monthAgo } } }))
          await data.tasks.delete(id)
      }),
    },
  },
)
