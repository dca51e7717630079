/** `portico generate client`: its output compiles in strict mode, and equals the types of the model. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import type { UncheckedObject } from '../../../src/base/json.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { clientTypes } from '../../../src/tools/generate/client-types.ts'
import { clientTypesOfModel, clientTypesOfService } from '../../../src/tools/generate/generate.ts'
import { createProject } from '../../docs/project.ts'
import blog from '../../models/blog.ts'
import hostile from '../../models/hostile.ts'
import rich from '../../models/rich.ts'
import tracker from '../../models/tracker.ts'
import values from '../../models/values.ts'
import { withService } from '../../server/serve/service.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const origin = { source: '--from https://api.example.com', version: '0' }
let project = ''
before(() => {
  project = createProject(root, 'sources')
})
after(() => rmSync(project, { recursive: true, force: true }))

const typesOf = (model: Declaration) => clientTypesOfModel(checkModel(model), 'model.ts')

/** Without the lines that name the source of the text. */
const bodyOf = (text: string) => text.split('\n').slice(2)

function documentOf(model: Declaration): UncheckedObject {
  return JSON.parse(JSON.stringify(openapi(checkModel(model), undefined)))
}

/** Equal types: each is assignable to the other. */
const comparison = `
import type { ApiTypes, CollectionTypes } from 'portico/client'
import type { ApiOf } from '${root}/src/client/types/model.ts'

type At<T, K> = K extends keyof T ? T[K] : never
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Member = Exclude<keyof CollectionTypes, 'create' | 'update' | 'actions'>
/** Operations of the model's collections: Portico's own actions are in the document only. */
type Operations<A extends ApiTypes, N> = [At<At<A['collections'], N>, 'actions'>, A['actions'], A['queries']]
export const sameOperations = <M, G extends ApiTypes, N>(
  ...wrong: Same<Operations<ApiOf<M>, N>, Operations<G, N>> extends true ? [] : [never]
) => wrong
type MemberOf<A extends ApiTypes, N, K> = K extends 'computed' ? Required<At<At<A['collections'], N>, K>> : At<At<A['collections'], N>, K>
/** The names of members that differ: \`tasks.item\`. */
type Wrong<M extends ApiTypes, G extends ApiTypes> = {
  [N in keyof M['collections'] & string]: {
    [K in Member]: Same<MemberOf<M, N, K>, MemberOf<G, N, K>> extends true ? never : \`\${N}.\${K}\`
  }[Member]
}[keyof M['collections'] & string]
/**
 * The document is more precise: it names the scopes of the model, the contents of JSON, and fields that some callers
 * cannot read.
 */
type MoreExact = 'api_keys.item' | 'oauth_apps.item' | 'users.item'
export const same = <M, G extends ApiTypes, Known = never>(
  ...wrong: [Exclude<Wrong<ApiOf<M>, G>, MoreExact | Known>] extends [never] ? [] : [Wrong<ApiOf<M>, G>]
) => wrong
`

const sameAsModels = `
import { same, sameOperations } from './comparison.ts'
import type blog from '${root}/test/models/blog.ts'
import type tracker from '${root}/test/models/tracker.ts'
import type rich from '${root}/test/models/rich.ts'
import type { Api as Blog } from './blog.ts'
import type { Api as Tracker } from './tracker.ts'
import type { Api as Rich } from './rich.ts'
same<typeof blog, Blog>()
same<typeof tracker, Tracker>()
same<typeof rich, Rich, 'projects.item' | 'tasks.item'>()
sameOperations<typeof tracker, Tracker, 'organizations'>()
sameOperations<typeof tracker, Tracker, 'projects'>()
sameOperations<typeof tracker, Tracker, 'tasks'>()
// @ts-expect-error: they differ
same<typeof blog, Tracker>()
// @ts-expect-error: they differ
sameOperations<typeof blog, Tracker, 'tasks'>()
`

const use = `
import { createApi, type Task, type TaskCreate } from './tracker.ts'

export async function use() {
  const api = createApi({ baseUrl: 'https://api.example.com', token: 'x' })
  const { data } = await api.tasks.list({ where: { status: 'open', project: { name: 'x' } }, include: ['project'] })
  const title: string | undefined = data[0]?.project?.name
  const body: TaskCreate = { title: 'x', project_id: 1 }
  const task: Task = await api.tasks.create(body)
  const figures = await api.queries.report(7)
  const done: number = figures.done
  await api.projects.archive(7)
  await api.organizations.found({ name: 'x' })
  const { open_tasks } = (await api.projects.get(1, { fields: ['open_tasks'] })) ?? {}
  for await (const event of api.projects.subscribe({ types: ['project.archived'] }))
    if (event.type === 'project.archived') event.values.dropped.toFixed()
  // @ts-expect-error: no such collection
  api.nothing
  // @ts-expect-error: no such field
  api.tasks.list({ where: { nothing: 1 } })
  // @ts-expect-error: no such value
  api.tasks.list({ where: { status: 'lost' } })
  // @ts-expect-error: no such relation
  api.tasks.list({ include: ['nothing'] })
  // @ts-expect-error: title is needed
  api.tasks.create({ project_id: 1 })
  // @ts-expect-error: read-only
  api.tasks.update(1, { completed_at: null })
  // @ts-expect-error: organisations cannot be created
  api.organizations.create({ name: 'x' })
  // @ts-expect-error: no such action
  api.tasks.archive(1)
  // @ts-expect-error: the input is needed
  api.organizations.found()
  // @ts-expect-error: it must be selected
  data[0]?.comment_count
  // @ts-expect-error: items are not changed in place
  task.title = 'x'
  return [title, done, open_tasks]
}
`

const roundTrip = `
import { ApiError } from 'portico/client'
import { createApi, type TaskStatus } from './tracker.ts'

export async function roundTrip(baseUrl: string, token: string) {
  const api = createApi({ baseUrl, token })
  const { id: organization_id } = await api.organizations.found({ name: 'Engines' })
  const project = await api.projects.create({ organization_id, name: 'Loom' })
  const status: TaskStatus = 'doing'
  const task = await api.tasks.create({ project_id: project.id, title: 'Weave', status })
  await api.tasks.update(task.id, { title: 'Weave more' })
  const { data } = await api.tasks.list({
    where: { status, project: { name: 'Loom' } },
    include: ['project'],
    fields: ['title', 'comment_count'],
  })
  const { meta } = await api.events.list()
  await api.projects.archive(project.id)
  const emitted = []
  for await (const event of api.projects.subscribe({ after: meta.next_after })) {
    if (event.type !== 'project.archived') continue
    emitted.push(event.values.dropped)
    break
  }
  const { dropped } = await api.queries.report(organization_id)
  const late = { project_id: project.id, title: 'Late' }
  const refused = await api.tasks.create(late).catch(error => error instanceof ApiError && [error.status, error.code])
  return { found: data.map(one => [one.title, one.comment_count, one.project?.name]), emitted, dropped, refused }
}
`

/** Deeper than the stack of a recursive function. */
const deepArray = Array.from({ length: 200_000 }).reduce<unknown[]>(inner => [inner], [])

/** A document that no model generates. */
function hostileDocument(): UncheckedObject {
  const text = JSON.stringify(documentOf(values))
  const document = JSON.parse(text)
  const { schemas } = document.components
  const { Thing } = schemas
  const item = schemas.Post ?? Thing ?? Object.values<UncheckedObject>(schemas)[0]
  const strange = {
    "x'; import 'evil": { type: 'string' },
    constructor: { const: "it's \\ \u2028 \u202e" },
    'two\nlines': { enum: ["'", '*/', `\`\${x}\``, 1, null, { a: 1 }] },
    circle: { $ref: '#/components/schemas/Circle' },
    nowhere: { $ref: '#/components/schemas/Nowhere' },
    inherited: { $ref: '#/components/schemas/toString' },
    elsewhere: { $ref: 'https://example.com/x.json' },
    strange: { $ref: "#/components/schemas/a'; b" },
    mixed: { allOf: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: ['string', 'nonsense'] }] },
    tuple: { type: 'array', prefixItems: [{ type: 'string' }] },
    odd: 7,
    deep: Array.from({ length: 1000 }).reduce<object>(items => ({ type: 'array', items }), {}),
    defaulted: { type: 'string', default: deepArray, format: deepArray },
  }
  Object.assign(item.properties, strange)
  Object.defineProperty(item.properties, '__proto__', { value: { type: 'string' }, enumerable: true })
  schemas.Circle = { anyOf: [{ $ref: '#/components/schemas/Circle' }, { type: 'null' }] }
  schemas["a'; b"] = { type: 'object', properties: { again: { $ref: "#/components/schemas/a'; b" } } }
  document.paths["/api/v1/it's/{id}"] = { get: document.paths['/api/v1/me'].get, 'x-odd': null }
  document.paths['/api/v1/actions/*/evil'] = { post: { responses: [] } }
  document.paths['/api/v1/things'].get['x-required-scopes'] = [deepArray]
  return document
}

/** A chain of interfaces that refer to each other. */
function longDocument(length: number): UncheckedObject {
  const document = JSON.parse(JSON.stringify(documentOf(blog)))
  const { schemas } = document.components
  for (let index = 0; index < length; index += 1)
    schemas[`Link${index}`] = { properties: { next: { $ref: `#/components/schemas/Link${index + 1}` } } }
  schemas.Post.properties.link = { $ref: '#/components/schemas/Link0' }
  return document
}

/** A document with this number of names that map to one identifier, and of paths and events. */
function crowdedDocument(count: number): UncheckedObject {
  const document = JSON.parse(JSON.stringify(documentOf(blog)))
  const { schemas } = document.components
  for (let index = 0; index < count; index += 1) {
    const name = `${index.toString(2).replaceAll('0', '-').replaceAll('1', '_')}crowd`
    schemas[name] = { properties: { at: { type: 'integer' } } }
    schemas.Post.properties[`crowd${index}`] = { $ref: `#/components/schemas/${name}` }
    document.paths[`/api/v1/crowd${index}`] = {}
  }
  return document
}

/** A document with this number of events that refer to one large schema. */
function repeatingDocument(events: number): UncheckedObject {
  const document = JSON.parse(JSON.stringify(documentOf(blog)))
  const { schemas } = document.components
  schemas.Large = { properties: { ['x'.repeat(100_000)]: { type: 'integer' } } }
  schemas.ItemEvent.oneOf = Array.from({ length: events }, (_, index) => ({
    properties: {
      collection: { const: 'posts' },
      type: { const: `post.x${index}` },
      values: { $ref: '#/components/schemas/Large' },
    },
  }))
  return document
}

describe('the generated types', () => {
  it('compile in strict mode, equal those of the model, and reject what the service would refuse', async () => {
    const files = {
      'comparison.ts': comparison,
      'same.ts': sameAsModels,
      'use.ts': use,
      'round-trip.ts': roundTrip,
      'blog.ts': typesOf(blog),
      'tracker.ts': typesOf(tracker),
      'rich.ts': typesOf(rich),
      'values.ts': typesOf(values),
      'hostile.ts': typesOf(hostile),
      'hostile-document.ts': clientTypes(hostileDocument(), origin),
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text)
    const strict = ['--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--noUnusedLocals']
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', '.', ...strict], {
      cwd: project,
    }).catch(error => error)
    assert.equal(stdout, '')
  })

  it('write and read at the service whose URL they name', async () => {
    await withService(
      {},
      async ({ url, key }) => {
        const text = await clientTypesOfService(url, {})
        assert.match(text, new RegExp(`^.*\n// portico generate client --from ${url}\n`))
        assert.deepEqual(bodyOf(text), bodyOf(typesOf(tracker)))
        const { roundTrip } = await import(join(project, 'round-trip.ts'))
        assert.deepEqual(await roundTrip(url, key), {
          found: [['Weave more', 0, 'Loom']],
          emitted: [1],
          dropped: 1,
          refused: [403, 'FORBIDDEN'],
        })
      },
      tracker,
    )
  })

  it('are the same text each time, from the model or its document, except for one line', () => {
    assert.equal(typesOf(tracker), typesOf(tracker))
    const other = clientTypes(documentOf(tracker), origin)
    assert.deepEqual(bodyOf(other), bodyOf(typesOf(tracker)))
    assert.match(other, /^.*\n\/\/ portico generate client --from https:\/\/api\.example\.com\n/)
  })

  it('contain the descriptions of fields, and omit invisible characters', () => {
    const text = typesOf(tracker)
    assert.match(
      text,
      /\/\*\* Set by the action `archive`\. As `date-time`\. \*\/\n {2}readonly archived_at: string \| null/,
    )
    assert.match(text, /export type TaskStatus = 'open' \| 'doing' \| 'done' \| 'dropped'\n/)
    for (const types of [typesOf(hostile), clientTypes(hostileDocument(), origin)])
      assert.doesNotMatch(types, /[\p{Bidi_Control}\u2028\u2029]|[^\\]\*\/ export|^\s*\*? ?@ts/mu)
  })

  it('can be generated from twenty thousand types that refer to each other', () => {
    assert.match(clientTypes(longDocument(20_000), origin), /export interface Link19999 \{/)
  })

  it('take time and space in proportion to the document', () => {
    assert.match(clientTypes(crowdedDocument(20_000), origin), /export interface Crowd_20000 \{/)
    assert.match(clientTypes(repeatingDocument(10), origin), /x{100000}/)
    assert.throws(() => clientTypes(repeatingDocument(1_000), origin), { name: 'DocumentError' })
    const document = JSON.parse(JSON.stringify(documentOf(blog)))
    for (let index = 0; index < 101; index += 1)
      document.paths[`/api/v1/copies${index}`] = document.paths['/api/v1/posts']
    assert.throws(() => clientTypes(document, origin), /have the same items/)
  })
})
