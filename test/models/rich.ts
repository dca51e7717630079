/** The second model of the tests: every field type, every kind of rule, every kind of relation. */
import {
  anyone,
  boolean,
  choice,
  collection,
  currentUser,
  date,
  datetime,
  email,
  field,
  index,
  integer,
  json,
  manyToMany,
  model,
  nobody,
  not,
  now,
  number,
  owner,
  randomUuid,
  related,
  relation,
  role,
  scope,
  signedIn,
  string,
  text,
  unique,
  url,
  users,
  uuid,
} from '../../src/index.ts'

const admin = role('admin')
const projectMember = related('memberships', field('user_id').eq(currentUser))
const memberOfProject = related('project', projectMember)

const rich = model({
  users: users({
    updatedAt: true,
    fields: {
      bio: text({ optional: true, max: 1000 }),
      /** Read by its owner and by administrators: a rule that depends on the row. */
      phone: string({
        optional: true,
        max: 30,
        pattern: '^\\+?[0-9 ]+$',
        access: { read: owner('id').or(admin) },
      }),
      manager_id: relation('users', { optional: true, inverse: 'reports', onDelete: 'clear' }),
    },
  }),

  projects: collection({
    description: 'Work that several people share.',
    updatedAt: true,
    fields: {
      name: string({ max: 80, searchable: true }),
      slug: string({ min: 2, max: 40, pattern: '^[a-z0-9-]+$', unique: true, immutable: true }),
      owner_id: relation('users', { inverse: 'projects', default: currentUser }),
      visibility: choice(['open', 'members'], { default: 'members' }),
      /** Read by administrators and accountants: a rule that does not depend on the row. */
      budget: number({
        optional: true,
        min: 0,
        access: { read: role('admin', 'accountant'), write: role('admin', 'accountant') },
      }),
      settings: json({
        default: { theme: 'light' },
        schema: {
          type: 'object',
          properties: {
            theme: { type: 'string', enum: ['light', 'dark'] },
            columns: { type: 'array', items: { type: 'string', maxLength: 20 }, maxItems: 10 },
          },
          additionalProperties: false,
        },
      }),
      code: string({ length: 4, pattern: '^[A-Z]{4}$', optional: true, renamedFrom: 'short_name' }),
    },
    relations: {
      members: manyToMany('users', { through: 'memberships', from: 'project_id', to: 'user_id' }),
    },
    access: {
      read: field('visibility').eq('open').or(owner('owner_id'), projectMember, admin),
      create: owner('owner_id'),
      update: owner('owner_id').or(admin),
      delete: owner('owner_id').or(admin),
    },
  }),

  memberships: collection({
    fields: {
      project_id: relation('projects', { inverse: 'memberships', onDelete: 'cascade' }),
      user_id: relation('users', { inverse: 'memberships', onDelete: 'cascade' }),
      level: choice(['guest', 'editor', 'lead'], { default: 'guest' }),
    },
    indexes: [unique('project_id', 'user_id')],
    access: {
      read: owner('user_id').or(related('project', owner('owner_id')), admin),
      create: related('project', owner('owner_id')).or(admin),
      update: related('project', owner('owner_id')).or(admin),
      delete: owner('user_id').or(related('project', owner('owner_id')), admin),
    },
  }),

  tasks: collection({
    description: 'What is to be done in a project.',
    renamedFrom: 'todos',
    updatedAt: true,
    fields: {
      title: string({ max: 120, searchable: true }),
      notes: text({ optional: true, searchable: true }),
      project_id: relation('projects', { inverse: 'tasks', onDelete: 'cascade', immutable: true }),
      assignee_id: relation('users', { optional: true, inverse: 'tasks', onDelete: 'clear' }),
      parent_id: relation('tasks', { optional: true, inverse: 'children', onDelete: 'cascade' }),
      state: choice(['open', 'doing', 'done'], { default: 'open' }),
      priority: integer({ min: 1, max: 5, default: 3 }),
      estimate: number({ optional: true, min: 0, max: 1000 }),
      done: boolean({ default: false }),
      due_on: date({ optional: true }),
      started_on: date({ default: now }),
      reminded_at: datetime({ optional: true }),
      seen_at: datetime({ default: now }),
      reference: uuid({ default: randomUuid, unique: true }),
      link: url({ optional: true }),
      extra: json({ optional: true }),
      score: integer({ default: 0, readOnly: true }),
      colour: string({
        optional: true,
        deprecated: { since: '2026-01-01', sunset: '2027-01-01', reason: 'Use `state`.' },
      }),
      ticket: string({ optional: true, internal: true }),
    },
    relations: {
      labels: manyToMany('labels', { through: 'task_labels', from: 'task_id', to: 'label_id' }),
    },
    indexes: [index('project_id', 'state', 'created_at')],
    access: {
      read: memberOfProject.or(related('project', owner('owner_id')), admin),
      create: memberOfProject.or(related('project', owner('owner_id'))),
      update: memberOfProject.or(admin).and(field('state').ne('done').or(admin)),
      delete: related('project', owner('owner_id')).or(admin),
    },
  }),

  labels: collection({
    fields: {
      name: string({ max: 30, unique: true }),
      shade: string({ optional: true, length: 7, pattern: '^#[0-9a-f]{6}$' }),
    },
    relations: {
      tasks: manyToMany('tasks', { through: 'task_labels', from: 'label_id', to: 'task_id' }),
    },
    access: { read: anyone, create: signedIn, update: admin, delete: admin.and(scope('write:label')) },
  }),

  task_labels: collection({
    fields: {
      task_id: relation('tasks', { onDelete: 'cascade' }),
      label_id: relation('labels', { onDelete: 'cascade' }),
    },
    indexes: [unique('task_id', 'label_id')],
    access: {
      read: signedIn,
      create: related('task', memberOfProject),
      update: nobody,
      delete: related('task', memberOfProject).or(admin),
    },
  }),

  contacts: collection({
    description: 'Addresses of people outside.',
    singular: 'contact',
    fields: {
      owner_id: relation('users', {
        as: 'keeper',
        inverse: 'contacts',
        default: currentUser,
        onDelete: 'restrict',
      }),
      email: email({ unique: true }),
      website: url({ optional: true }),
      born_on: date({ optional: true }),
      passphrase: string({ min: 8, max: 100, writeOnly: true }),
      blocked: boolean({ default: false, access: { write: admin } }),
    },
    access: {
      read: owner('owner_id')
        .and(not(field('blocked').eq(true)))
        .or(admin),
      create: signedIn.and(owner('owner_id')),
      update: owner('owner_id').or(admin),
      delete: owner('owner_id').or(admin),
    },
  }),

  notices: collection({
    description: 'What everyone should know.',
    deprecated: { since: '2026-02-01T00:00:00Z', sunset: '2027-02-01', reason: 'Use `projects`.' },
    fields: {
      title: string({ searchable: true }),
      published_at: datetime({ optional: true }),
      audience: choice(['all', 'staff'], { default: 'all' }),
    },
    access: {
      read: field('published_at').ne(null).and(field('audience').eq('all')).or(role('admin', 'staff')),
    },
  }),

  /** Without rules of its own: for administrators only. */
  audits: collection({
    fields: {
      subject: string(),
      weight: number({ default: 1.5 }),
      at: datetime({ default: '2026-01-01T00:00:00Z' }),
    },
  }),
})

export default rich
