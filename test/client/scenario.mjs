/** The steps of a client on every runtime; returns their results. `client`: the module `portico/client`. */

/** @param {typeof import('../../src/client.ts')} client */
export async function scenario(client, { baseUrl, token, name }) {
  const api = client.createClient({ baseUrl, token, retries: 10 })
  const fault = async name => (await fetch(`${baseUrl}/faults/${name}`, { method: 'POST' })).text()
  const organization = await api.organizations.found({ name })
  const project = await api.projects.create({ organization_id: organization.id, name: 'Garden' })
  return {
    items: await items(client, api, project),
    logic: await logic(api, organization, project),
    faults: await faults(client, { api, fault, baseUrl, token, project }),
    events: await events(client, { api, fault, project }),
  }
}

const codeOf = promise =>
  promise.then(
    () => 'no error',
    error => error.code ?? error.name,
  )

async function items({ etagOf, ApiError }, api, project) {
  const here = { project_id: project.id }
  const task = await api.tasks.create({ ...here, title: 'Dig, & sow?' })
  const changed = await api.tasks.update(task.id, { points: 5 }, { ifMatch: etagOf(task) })
  await api.tasks.createMany([1, 2, 3].map(points => ({ ...here, title: `Task ${points}`, points })))
  const where = {
    ...here,
    or: [{ points: { gte: 3 } }, { title: { contains: '& sow' } }],
    not: { status: 'done' },
  }
  const { data, meta } = await api.tasks.list({ where, sort: ['-points'], include: ['project'], perPage: 1 })
  const walked = []
  for await (const { title } of api.tasks.all({ where: here, perPage: 2 })) walked.push(title)
  const { data: aggregates } = await api.tasks.aggregate({
    where: here,
    groupBy: ['urgent'],
    sum: ['points'],
  })
  const error = await api.tasks.create({ ...here, titel: 'x' }).catch(thrown => thrown)
  return {
    stale: await codeOf(api.tasks.update(task.id, { points: 7 }, { ifMatch: etagOf(task) })),
    points: changed.points,
    found: [data.map(({ title, project: { name } }) => [title, name]), meta.total],
    walked,
    aggregates,
    count: await api.tasks.count({ ...here, points: { lt: 3 } }),
    missing: await api.tasks.get(999_999),
    first: await api.tasks.first({ where: here, sort: ['points'], fields: ['title', 'comment_count'] }),
    error: [
      error instanceof ApiError,
      error.status,
      error.code,
      error.details.map(({ field }) => field).sort(),
    ],
    hasRequestId: typeof error.requestId === 'string',
  }
}

async function logic(api, organization, project) {
  const [newProject, task, counted] = await api.batch((tx, reference) => {
    const created = tx.projects.create({ organization_id: organization.id, name: '$a.b' })
    const added = tx.tasks.create({ project_id: reference(created), title: '$5' })
    return [created, added, tx.tasks.count({ project_id: project.id })]
  })
  const { dropped } = await api.queries.report(organization.id)
  const archived = await api.projects.archive(newProject.id)
  return {
    batch: [newProject.name, task.title, task.project_id === newProject.id, counted],
    query: [dropped, (await api.queries.report(organization.id)).dropped],
    action: typeof archived.archived_at,
    nothing: await api.tasks.trash(task.id),
    me: (await api.me()).role,
  }
}

async function faults({ createClient }, { api, fault, baseUrl, token, project }) {
  const impatient = createClient({ baseUrl, token, retries: 0 })
  await fault('drop')
  const once = await api.tasks.create({ project_id: project.id, title: 'Once' })
  await fault('html')
  const html = await codeOf(impatient.tasks.list())
  await fault('html')
  const retried = (await api.tasks.list({ where: { id: once.id } })).data.length
  await fault('silence')
  const silent = await codeOf(impatient.tasks.list({ timeoutMs: 300 }))
  const controller = new AbortController()
  await fault('silence')
  const listing = codeOf(api.tasks.list({ signal: controller.signal }))
  while ((await fault('pending')) !== '') await fault('pending')
  controller.abort(new RangeError('enough'))
  return {
    once: await api.tasks.count({ title: 'Once', project_id: project.id }),
    codes: [html, silent, await listing],
    retried,
    nobody: await codeOf(createClient({ baseUrl: 'http://127.0.0.1:9', retries: 0 }).tasks.list()),
    refused: await codeOf(createClient({ baseUrl, token: 'pk_0000', retries: 3 }).tasks.list()),
    renewed: (await createClient({ baseUrl, token: refused => (refused ? token : 'pk_0000') }).me()).role,
  }
}

/** Listens while the connection is cut and the server is killed: each event must arrive exactly once. */
async function events({ ApiError }, { api, fault, project }) {
  const controller = new AbortController()
  const connections = []
  const received = listener()
  const following = api.tasks.subscribe({
    where: { project_id: project.id },
    types: ['task.created'],
    signal: controller.signal,
    onConnection: isConnected => {
      connections.push(isConnected)
      received.notice()
    },
  })
  const end = received.listen(following)
  await received.until(() => connections.length === 1)
  const create = title => api.tasks.create({ project_id: project.id, title })
  await create('a')
  await create('b')
  await received.until(() => received.titles.length === 2)
  await fault('cut')
  await create('c')
  await received.until(() => received.titles.length === 3)
  await fault('kill')
  await create('d')
  await create('e')
  await received.until(() => received.titles.length === 5)
  controller.abort()
  await end
  const repeated = []
  for await (const { data } of api.events.subscribe({ collections: ['tasks'], after: received.ids[0] })) {
    repeated.push(data.title)
    if (repeated.length === 2) break
  }
  const lostPosition = await api.tasks
    .subscribe({ after: '999999999' })
    .next()
    .catch(error => error)
  let open = await fault('streams')
  while (open !== '0') open = await fault('streams')
  return {
    titles: received.titles,
    again: repeated,
    unique: new Set(received.ids).size,
    connections,
    lost: [lostPosition instanceof ApiError, lostPosition.code, lostPosition.status],
    next: typeof (await api.events.list()).meta.next_after,
  }
}

function listener() {
  let check = () => {}
  const recorder = {
    ids: [],
    titles: [],
    notice: () => check(),
    until: holds =>
      new Promise(resolve => {
        check = () => holds() && resolve()
        check()
      }),
    async listen(events) {
      for await (const { id, data } of events) {
        recorder.ids.push(id)
        recorder.titles.push(data.title)
        check()
      }
    },
  }
  return recorder
}
