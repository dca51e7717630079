/** The model of the action tests. */
import {
  action,
  anyone,
  choice,
  collection,
  currentUser,
  integer,
  item,
  model,
  owner,
  query,
  relation,
  role,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'

// biome-ignore lint/suspicious/noExplicitAny: only generated types describe the arguments of `run`.
type Data = Record<string, any>

const ownerOrAdmin = owner('owner_id').or(role('admin'))

export const timers = { wait: () => new Promise(resolve => setTimeout(resolve, 5)) }

export default model(
  {
    users: users({}),
    projects: collection({
      fields: {
        name: text({ max: 100 }),
        archived: text({ optional: true }),
        points: integer({ default: 0, min: 0 }),
        owner_id: relation('users', { default: currentUser, inverse: 'projects' }),
        stamped_by: text({ optional: true, readOnly: true }),
      },
      access: { read: ownerOrAdmin, create: ownerOrAdmin, update: ownerOrAdmin, delete: ownerOrAdmin },
    }),
    tasks: collection({
      fields: {
        title: text({ max: 100, unique: true }),
        status: choice(['open', 'done'], { default: 'open' }),
        project_id: relation('projects', { inverse: 'tasks', onDelete: 'cascade' }),
      },
      access: { read: signedIn, create: signedIn, update: role('admin'), delete: signedIn },
    }),
  },
  {
    actions: {
      archive: action({
        on: 'projects',
        input: { why: text({ max: 50 }) },
        output: item('projects'),
        access: owner('owner_id'),
        scope: 'archive:project',
        emits: { 'project.archived': { fields: { why: text(), open: integer() } } },
        async run({ item: project, input, data, emit }: Data) {
          let open = 0
          for await (const task of data.tasks.all({ where: { project_id: project.id, status: 'open' } })) {
            await data.asSystem.tasks.update(task.id, { status: 'done' })
            open += 1
          }
          const archived = await data.projects.update(project.id, { archived: input.why })
          await emit('project.archived', archived, { why: input.why, open })
          return archived
        },
      }),
      move_points: action({
        of: 'projects',
        input: { from: item('projects'), to: item('projects'), points: integer({ min: 1 }) },
        output: { from: item('projects'), left: integer() },
        access: signedIn,
        async run({ input, data }: Data) {
          const from = await data.projects.get(input.from.id)
          const to = await data.projects.get(input.to.id)
          await data.projects.update(from.id, { points: from.points - input.points })
          await data.projects.update(to.id, { points: to.points + input.points })
          return { from, left: from.points - input.points }
        },
      }),
      next_task: action({
        of: 'tasks',
        input: { after: item('tasks', { optional: true }) },
        output: item('tasks', { optional: true }),
        access: signedIn,
        run: ({ input, data }: Data) =>
          data.tasks.first({ where: { id: { gt: input.after?.id ?? 0 } }, sort: ['id'] }),
      }),
      around: action({
        of: 'tasks',
        input: { task: item('tasks') },
        output: { before: item('tasks', { optional: true }), after: item('tasks', { optional: true }) },
        access: signedIn,
        run: async ({ input: { task }, data }: Data) => ({
          before: await data.tasks.first({ where: { id: { lt: task.id } }, sort: ['-id'] }),
          after: (await data.tasks.first({ where: { id: { gt: task.id } }, sort: ['id'] })) ?? undefined,
        }),
      }),
      ping: action({ access: anyone, run: () => undefined }),
      stamp: action({
        on: 'projects',
        access: signedIn,
        run: async ({ item: project, data, caller, now }: Data) => {
          await data.asSystem.projects.update(project.id, { stamped_by: `${caller.id} ${now}` })
        },
      }),
      waits: action({
        of: 'projects',
        access: signedIn,
        run: async ({ data }: Data) => {
          await data.projects.create({ name: 'never' })
          await timers.wait()
        },
      }),
      forgets: action({
        of: 'projects',
        input: { title: text() },
        access: signedIn,
        run: async ({ data, input }: Data) => {
          const project = await data.projects.create({ name: 'forgotten' })
          void data.tasks.create({ title: input.title, project_id: project.id })
        },
      }),
      catches: action({
        of: 'projects',
        input: { title: text() },
        access: signedIn,
        run: async ({ data, input }: Data) => {
          const project = await data.projects.create({ name: 'catcher' })
          try {
            await data.tasks.create({ title: input.title, project_id: project.id })
          } catch (error) {
            await data.tasks.create({ title: `${input.title} 2`, project_id: project.id })
            await data.projects.update(project.id, { archived: (error as { code: string }).code })
          }
        },
      }),
      throws: action({
        of: 'projects',
        input: { what: choice(['error', 'text', 'nothing', 'output', 'mail', 'fetch']) },
        output: { count: integer() },
        access: signedIn,
        run: async ({ data, input, mail, fetch }: Data) => {
          await data.projects.create({ name: 'thrown' })
          if (input.what === 'error') throw new Error('a secret of the model')
          if (input.what === 'text') throw 'a text'
          if (input.what === 'nothing') throw undefined
          if (input.what === 'mail') await mail.send({})
          if (input.what === 'fetch') await fetch('https://example.com')
          return { count: 'many' } as never
        },
      }),
      mistakes: action({
        of: 'projects',
        input: {
          what: choice([
            'where',
            'operator',
            'undefined',
            'undefined-operand',
            'no-operator',
            'sort',
            'fields',
            'include',
            'forgotten',
            'value',
            'id',
            'caught',
          ]),
        },
        access: signedIn,
        run: async ({ data, input }: Data) => {
          await data.projects.create({ name: 'mistaken' })
          const lists: Record<string, object> = {
            where: { where: { naem: 'x' } },
            operator: { where: { name: { like: 'x' } } },
            undefined: { where: { name: undefined } },
            'undefined-operand': { where: { name: { eq: undefined } } },
            'no-operator': { where: { name: {} } },
            sort: { sort: ['naem'] },
            fields: { fields: ['naem'] },
            include: { include: ['naem'] },
            value: { where: { points: 'many' } },
          }
          if (input.what === 'forgotten') void data.projects.list({ sort: ['naem'] })
          else if (input.what === 'id') await data.projects.get(0)
          else if (input.what === 'caught') await data.projects.list({ sort: ['naem'] }).catch(() => null)
          else await data.projects.list(lists[input.what])
        },
      }),
      loops: action({
        of: 'projects',
        access: signedIn,
        run: async ({ data }: Data) => {
          await data.projects.create({ name: 'looped' })
          for (;;) await data.projects.count().catch(() => 0)
        },
      }),
    },
    queries: {
      open_tasks: query({
        input: { project: item('projects'), least: integer({ default: 0 }) },
        output: { project: item('projects'), open: integer(), least: integer() },
        access: signedIn,
        run: async ({ input, data }: Data) => ({
          project: input.project,
          open: await data.tasks.count({ project_id: input.project.id, status: 'open' }),
          least: input.least,
        }),
      }),
      latest: query({
        on: 'projects',
        input: { done: choice(['yes', 'no']) },
        output: item('tasks'),
        access: owner('owner_id'),
        scope: 'see:progress',
        run: ({ item: project, input, data }: Data) =>
          data.tasks.first({
            where: { project_id: project.id, status: input.done === 'yes' ? 'done' : 'open' },
            sort: ['-id'],
          }),
      }),
      endless: query({
        output: { count: integer() },
        access: signedIn,
        run: async ({ data }: Data) => {
          for (;;) await data.projects.count().catch(() => 0)
        },
      }),
      writes: query({
        access: signedIn,
        run: async ({ data }: Data) => {
          await data.projects.create({ name: 'written by a query' })
        },
      }),
    },
  },
)
