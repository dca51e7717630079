/** Writes and reads things by nothing but the types that openapi-typescript has made. */
import createClient from 'openapi-fetch'
import { SERVICE, TOKEN, write } from './environment.js'
import type { components, paths } from './values-api.js'

// The media type: errors also come as problem details, for those who ask for them.
const client = createClient<paths, 'application/json'>({
  baseUrl: SERVICE,
  headers: { Authorization: `Bearer ${TOKEN}` },
  // As `filter` and `more_filters` are sent.
  querySerializer: { object: { style: 'form', explode: true } },
})

type Thing = components['schemas']['Thing']
type NewThing = components['schemas']['ThingCreate']

function given<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}

async function create(body: NewThing): Promise<Thing> {
  return given(await client.POST('/api/v1/things', { body }))
}

const names = (things: readonly Thing[]): string[] => things.map(({ name }) => name)

async function page() {
  const query = { page: 2, per_page: 2, sort: 'name' }
  const { data, meta } = given(await client.GET('/api/v1/things', { params: { query } }))
  return { names: names(data), total: meta.total, page: meta.page }
}

async function cursor() {
  const pages: string[][] = []
  for (let next: string | null = ''; next !== null; ) {
    const query: { cursor: string; per_page: number } = { cursor: next, per_page: 2 }
    const { data, meta } = given(await client.GET('/api/v1/things', { params: { query } }))
    pages.push(names(data))
    next = meta.next_cursor ?? null
  }
  return pages
}

async function main() {
  const one = await create({
    name: 'one',
    large: 2 ** 53 - 1,
    ratio: 0.5,
    state: 'in-between',
    payload: { a: [1, null] },
    tags: ['x'],
    shape: { width: 3, unit: 'mm' },
    either: 7,
    level: 'low',
    day: '2026-01-31',
    at: '2026-01-31T12:00:00Z',
    mail: 'ada@example.com',
    link: 'https://example.com/',
    owner_id: 1,
  })
  const two = await create({ name: 'two', parent_id: one.id })
  const three = await create({ name: 'three' })
  const path = (id: number) => ({ path: { id } })
  const include = given(
    await client.GET('/api/v1/things/{id}', {
      params: { ...path(two.id), query: { include: 'parent.owner' } },
    }),
  )
  const updated = given(
    await client.PATCH('/api/v1/things/{id}', {
      params: path(one.id),
      body: { body: 'changed', mood: 'good', mail: null, payload: { a: null, b: 1 }, shape: { unit: null } },
    }),
  )
  const lists = { page: await page(), cursor: await cursor() }
  const filter = { params: { query: { filter: { 'state[in]': 'in-between,done' } } } }
  const filtered = given(await client.GET('/api/v1/things', filter))
  const replaced = given(
    await client.PUT('/api/v1/things/{id}', { params: path(one.id), body: { name: 'replaced' } }),
  )
  const conflict = await client.POST('/api/v1/things', { body: { name: 'two' } })
  const deleted = await client.DELETE('/api/v1/things/{id}', { params: path(three.id) })
  const missing = await client.GET('/api/v1/things/{id}', { params: path(three.id) })
  return {
    created: [
      one.large,
      one.ratio,
      one.state,
      one.mood,
      one.payload,
      one.tags,
      one.shape,
      one.either,
      one.level,
    ],
    dates: [one.day, new Date(one.at ?? '').toISOString(), one.link],
    defaults: [three.state, three.active, three.payload, three.tags, three.shape, three.owner_id],
    included: [include.parent?.name, include.parent?.owner?.name],
    updated: [updated.body, updated.mood, updated.mail, updated.payload, updated.shape],
    ...lists,
    filtered: names(filtered.data),
    replaced: [replaced.name, replaced.state, replaced.mood],
    conflict: [
      conflict.response.status,
      conflict.error?.error.code,
      conflict.error?.error.details?.[0]?.field,
    ],
    deleted: deleted.response.status,
    missing: [missing.response.status, missing.error?.error.code],
  }
}

write(await main())
