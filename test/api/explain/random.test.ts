/** Random requests by random callers: an explanation predicts the response, and stores nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import { caseCount, seed, seeded } from '../../cases.ts'
import tracker from '../../models/tracker.ts'
import { type Organization, organizationOf } from '../../system/matrix/tracker.ts'
import { type Document, Generator, operationsOf } from '../conformance/generate.ts'
import { databaseKinds, sqlite } from '../contract/rest/databases.ts'
import { openDump } from './dump.ts'

type Service = TestService<typeof tracker>

/** A caller with a key of its own. */
interface Caller {
  readonly label: string
  readonly key: { readonly id: number; readonly text: string } | undefined
}

interface ExplainedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

async function callersOf(service: Service, { people }: Organization, root: number): Promise<Caller[]> {
  const outsider = (await service.users.create({ name: 'Outsider' })).id
  const callers: Caller[] = [{ label: 'nobody', key: undefined }]
  const add = async (user: number, scopes: readonly string[]) => {
    const body = { name: 'Key', scopes }
    const created = await service.request('POST /api/v1/api_keys', { as: user, body })
    assert.equal(created.status, 201, created.text)
    callers.push({ label: `${user} ${scopes}`, key: { id: created.body.id, text: created.body.key } })
  }
  for (const user of [root, outsider, people.reader, people.editor, people.admin]) await add(user, ['*'])
  await add(people.editor, ['read:task', 'write:comment', 'read:user'])
  await add(people.admin, ['write:project', 'read:organization', 'write:user'])
  return callers
}

/** Requests with large effects, which are rarely generated at random. */
function ownRequests({
  items,
  people,
  organization,
}: Organization): readonly Omit<ExplainedRequest, 'headers'>[] {
  const { tasks, projects, labels, comments, memberships, invitations } = items
  const requestOf = (method: string, path: string, body?: unknown) => ({ method, path, body })
  const operations = [
    { method: 'POST', path: '/tasks', as: 't', body: { project_id: projects, title: 'x' } },
    { method: 'PATCH', path: '/tasks/$t.id', body: { points: 3 } },
    { method: 'POST', path: `/projects/${projects}/archive` },
  ]
  return [
    requestOf('POST', '/tasks', { project_id: projects, title: 'x', assignee_id: 99_999 }),
    requestOf('POST', '/tasks', { project_id: projects, title: 'x', urgent: true }),
    requestOf('POST', '/tasks', [
      { project_id: projects, title: 'a' },
      { project_id: 99_999, title: 'b' },
    ]),
    requestOf('PATCH', `/tasks/${tasks}`, { status: 'done' }),
    requestOf('PATCH', `/tasks/${tasks}`, { assignee_id: memberships }),
    requestOf('PATCH', `/comments/${comments}`, { body: ' ' }),
    requestOf('PATCH', `/users/${people.reader}`, { email: 'ours-editor@example.com' }),
    requestOf('PATCH', `/users/${people.editor}`, { email: 'ours-reader@example.com' }),
    requestOf('PATCH', `/users/${people.editor}`, { disabled: true }),
    requestOf('POST', `/projects/${projects}/archive`),
    requestOf('POST', `/tasks/${tasks}/trash`),
    requestOf('POST', `/tasks/${tasks}/restore`),
    requestOf('POST', `/invitations/${invitations}/accept`),
    requestOf('POST', '/organizations/found', { name: 'Mine' }),
    requestOf('GET', `/queries/report?id=${organization}`),
    requestOf('POST', '/labels', { organization_id: organization, name: 'again' }),
    requestOf('DELETE', `/labels/${labels}`),
    requestOf('POST', '/batch', { operations }),
    requestOf('POST', '/webhooks', { url: 'https://example.com/hook', types: ['task.*'] }),
    requestOf('POST', '/oauth_apps', {
      name: 'App',
      redirect_uris: ['https://example.com/cb'],
      type: 'public',
    }),
    requestOf('GET', '/events?types=task.created'),
    requestOf('GET', '/events/runs'),
    requestOf('GET', `/events?collections=projects&item_id=${projects}`),
  ]
}

/** A request that can be explained: a method of the API, a JSON body, `If-Match`. Undefined for others. */
function randomRequest(generator: Generator, document: Document): ExplainedRequest | undefined {
  const operation = generator.pick(operationsOf(document))
  // If deletions were as frequent as reads, no data or users would soon be left.
  if (operation.method === 'DELETE' && generator.chance(0.9)) return undefined
  if (/\/(explain|test|\{n\}\/redeliver)$/.test(operation.path)) return undefined
  const { method = 'GET', url, headers = {}, body } = generator.request(operation)
  const isTaken = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)
  const path = url.replace('/api/v1', '')
  if (!isTaken || !path.startsWith('/') || !/^[!-~]+$/.test(path) || /[?&]wait=/.test(path)) return undefined
  const { 'if-match': ifMatch } = headers
  try {
    const parsed = body === undefined ? undefined : JSON.parse(String(body))
    return { method, path, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch }, body: parsed }
  } catch {
    return undefined
  }
}

interface Verdict {
  readonly status: number
  readonly code: string | null
  readonly reasons: readonly unknown[]
  readonly allowed: boolean
}

async function explain(
  service: Service,
  root: number,
  caller: Caller,
  request: ExplainedRequest,
): Promise<Verdict> {
  const { method, path, headers, body } = request
  const sameRequest = {
    ...{ method, path, body },
    ...(caller.key && { api_key: caller.key.id }),
    ...(headers['if-match'] !== undefined && { if_match: headers['if-match'] }),
  }
  const answer = await service.request('POST /api/v1/explain', { as: root, body: sameRequest })
  assert.equal(answer.status, 200, `${JSON.stringify(sameRequest)} ${answer.text}`)
  return answer.body
}

function answerOf(service: Service, { key }: Caller, { method, path, headers, body }: ExplainedRequest) {
  const credential: Readonly<Record<string, string>> = key ? { authorization: `Bearer ${key.text}` } : {}
  return service.request(`${method} /api/v1${path}`, {
    headers: { ...headers, ...credential },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** Lines in one of them only. The last use of a key is stored later, for real requests and for the caller's own key. */
function changedLines(before: readonly string[], after: readonly string[]): readonly string[] {
  const [old, now] = [new Set(before), new Set(after)]
  const lines = [...before.filter(line => !now.has(line)), ...after.filter(line => !old.has(line))]
  return lines.filter(line => !/^(?:public\.)?(?:_records \(?"?KeyUse\b|_touched \(\d+,"",)/.test(line))
}

for (const kind of databaseKinds) {
  const requests = kind === sqlite ? caseCount(300, 120) : caseCount(150, 100)
  test(`${requests} random requests are explained as they are answered, and explanations store nothing (${kind.name}, seed ${seed})`, async t => {
    const database = await kind.create(checkModel(tracker))
    const service = await testService(tracker, { settings: { database: database.url, rateLimit: 100_000 } })
    const dump = await openDump(database.url)
    try {
      const ours = await organizationOf(service, 'OURS')
      const root = (await service.users.create({ name: 'Root', role: 'admin' })).id
      const callers = await callersOf(service, ours, root)
      const document = JSON.parse(JSON.stringify(openapi(checkModel(tracker), undefined)))
      const generator = new Generator(document, seeded(seed + requests))
      const own = ownRequests(ours).map(request => ({ ...request, headers: {} }))
      const statuses = new Map<number, number>()
      let before = await dump.lines()
      for (let n = 0; n < requests; n++) {
        const caller = generator.pick(callers)
        const request = generator.chance(0.3) ? generator.pick(own) : randomRequest(generator, document)
        if (request === undefined) continue
        const verdict = await explain(service, root, caller, request)
        const label = `${caller.label} ${JSON.stringify(request)} ${JSON.stringify(verdict)}`
        const lines = await dump.lines()
        assert.deepEqual(changedLines(before, lines), [], `explained, and something was stored: ${label}`)
        const real = await answerOf(service, caller, request)
        assert.equal(verdict.status, real.status, `${label}\n${real.text}`)
        assert.equal(verdict.code, real.status < 400 ? null : (real.body?.error.code ?? verdict.code), label)
        assert.ok(verdict.allowed || verdict.reasons.length > 0, label)
        statuses.set(real.status, (statuses.get(real.status) ?? 0) + 1)
        before = await dump.lines()
      }
      t.diagnostic(JSON.stringify([...statuses].sort()))
      const unknown = { as: 'nobody\0@example.com', path: '/tasks' }
      const nobody = await service.request('POST /api/v1/explain', { as: root, body: unknown })
      assert.equal(nobody.body.error.code, 'VALIDATION_FAILED', nobody.text)
      for (const status of [200, 201, 400, 401, 403, 404]) {
        assert.ok((statuses.get(status) ?? 0) > 0, `${status}`)
      }
    } finally {
      await dump.close()
      await service.close()
      await database.drop()
    }
  })
}
