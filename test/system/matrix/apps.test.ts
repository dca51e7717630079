/** Rules about the caller's app: every credential sees exactly what belongs to its app, whatever else it shares with others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  caller,
  checkModel,
  collection,
  count,
  currentApp,
  field,
  model,
  not,
  related,
  relation,
  string,
} from '../../../src/index.ts'
import { chosen } from '../../chosen.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  type Person,
  post,
  withFixture,
} from '../../identity/conformance/server.ts'
import { sameOrigin, signedInCookie } from '../../identity/own-page.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

const ofPartner = field('partner_id').eq(caller('app.id'))

/** As a rule that no anonymous caller fulfils, except that it depends on the row for them, too. */
const shown = ofPartner.or(field('kind').eq('none'))

const declared = model({
  courses: collection({
    fields: {
      title: string({ searchable: true }),
      /** The same in all. */
      kind: string({ default: 'course' }),
      partner_id: relation('oauth_apps', {
        optional: true,
        inverse: 'courses',
        default: currentApp,
        immutable: true,
      }),
    },
    computed: { lesson_count: count('lessons'), own: count('lessons', related('course', ofPartner)) },
    access: { read: shown, create: anyone, update: shown, delete: shown },
  }),
  lessons: collection({
    fields: { title: string(), course_id: relation('courses', { inverse: 'lessons', onDelete: 'cascade' }) },
    access: { read: related('course', shown), create: anyone },
  }),
  /** A partner reads the fees of its own offers, and others the notes. */
  offers: collection({
    fields: {
      title: string(),
      fee: string({ access: { read: ofPartner.or(field('title').eq('none')) } }),
      note: string({ access: { read: not(ofPartner) } }),
      partner_id: relation('oauth_apps', { optional: true, default: currentApp, readOnly: true }),
    },
    access: { read: anyone, create: anyone },
  }),
  /** Hidden from the partner that it is about. */
  reviews: collection({
    fields: {
      title: string(),
      partner_id: relation('oauth_apps', { optional: true, default: currentApp, immutable: true }),
    },
    access: { read: not(ofPartner), create: anyone },
  }),
})

const scopes = [...checkModel(declared).scopes.keys()]

interface Credential {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The app that it acts through. */
  readonly app: number | null
}

const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` })

async function userToken(fixture: Fixture, app: App, person: Person) {
  const options = { browser: fixture.browser(), person, scope: scopes.join(' ') }
  return bearer((await newTokens(fixture, app, options)).access_token)
}

async function appToken({ url }: Fixture, app: App) {
  const form = { grant_type: 'client_credentials', scope: scopes.join(' '), ...clientCredentials(app) }
  const { status, text, json } = await post(`${url}/oauth/token`, form)
  assert.equal(status, 200, text)
  return bearer(json.access_token)
}

async function keyBy({ call }: Fixture, headers: Credential['headers']) {
  const body = { name: 'made', scopes }
  const { status, text, json } = await call('/api/v1/api_keys', { method: 'POST', headers, body })
  assert.equal(status, 201, text)
  return bearer(json.key)
}

async function credentialsOf(fixture: Fixture): Promise<readonly Credential[]> {
  const { ann, ben, admin, call, url } = fixture
  const app = (name: string, format: string) =>
    fixture.app({ name, access_token_format: format, scopes, default_scopes: null })
  const [one, two, own] = [await app('One', 'opaque'), await app('Two', 'jwt'), await app('Own', 'opaque')]
  const first = { method: 'PATCH', key: admin.key, body: { first_party: true } }
  assert.equal((await call(`/api/v1/oauth_apps/${own.id}`, first)).status, 200)
  const annByOne = await userToken(fixture, one, ann)
  const keyOfOne = await keyBy(fixture, annByOne)
  const annByOwn = await userToken(fixture, own, ann)
  return [
    { name: 'no credential', headers: {}, app: null },
    { name: "Ann's key", headers: bearer(ann.key), app: null },
    { name: "the administrator's key", headers: bearer(admin.key), app: null },
    {
      name: "Ann's session",
      headers: { cookie: await signedInCookie(url, ann), ...sameOrigin },
      app: null,
    },
    { name: 'Ann through One', headers: annByOne, app: one.id },
    { name: 'Ann through Two', headers: await userToken(fixture, two, ann), app: two.id },
    { name: 'Ben through One', headers: await userToken(fixture, one, ben), app: one.id },
    { name: 'the administrator through Two', headers: await userToken(fixture, two, admin), app: two.id },
    { name: 'a key that One made for Ann', headers: keyOfOne, app: one.id },
    { name: 'a key that this key made', headers: await keyBy(fixture, keyOfOne), app: one.id },
    { name: "Ann through the service's own app", headers: annByOwn, app: own.id },
    { name: 'a key that this app made', headers: await keyBy(fixture, annByOwn), app: own.id },
    { name: 'One without a user', headers: await appToken(fixture, one), app: one.id },
    { name: 'Two without a user', headers: await appToken(fixture, two), app: two.id },
  ]
}

interface Course {
  readonly id: number
  readonly app: number | null
}

/** In every text of what belongs to an app. */
const mark = (app: number | null) => `<of ${app}>`

/** Each credential creates an item of every collection, of which it may not see all. */
async function seed({ call }: Fixture, credentials: readonly Credential[]): Promise<readonly Course[]> {
  const courses: Course[] = []
  for (const { name, headers, app } of credentials) {
    const create = async (path: string, values: object) => {
      const created = await call(`/api/v1/${path}`, { method: 'POST', headers, body: values })
      assert.equal(created.status, 201, `${name}: ${created.text}`)
      return Number(/\d+$/.exec(created.headers.get('location') ?? '')?.[0])
    }
    const title = mark(app)
    const id = await create('courses', { title })
    courses.push({ id, app })
    if (app !== null) await create('lessons', { title, course_id: id })
    await create('offers', { title: 'an offer', fee: `fee ${title}`, note: `note ${title}` })
    await create('reviews', { title: `review ${title}` })
  }
  return courses
}

type Answers = Readonly<Record<string, unknown>>

/** Everything that a credential is told. */
async function readAll({ call }: Fixture, { headers }: Credential, course: Course): Promise<Answers> {
  const answers: Record<string, unknown> = {}
  const lines = [
    'courses?total=exact&fields=*,lesson_count,own&include=lessons',
    'courses?kind=course&sort=-title&per_page=3&page=2',
    `courses?title[contains]=${encodeURIComponent('<of ')}`,
    'courses?q=of',
    'courses?lessons.title[contains]=of',
    'courses?include=partner',
    'courses/aggregate?count&group_by=partner_id',
    `courses/${course.id}?include=lessons`,
    `courses/${course.id}/lessons`,
    'lessons?total=exact&include=course',
    'lessons/aggregate?count',
    'offers?total=exact&sort=id',
    'offers?fee[contains]=of&fields=id',
    'offers?note[contains]=of&fields=id',
    'offers/aggregate?count&group_by=fee',
    'reviews?total=exact',
    `oauth_apps/${course.app ?? 1}/courses`,
  ]
  for (const line of lines) {
    const { status, text } = await call(`/api/v1/${line}`, { headers })
    answers[line] = [status, text]
  }
  const csv = await call('/api/v1/courses', { headers: { ...headers, accept: 'text/csv' } })
  answers['csv'] = [csv.status, csv.text]
  const query = `{ courses(limit: 20, orderBy: [ID_ASC]) { id title lessons(limit: 5) { title } } reviews(limit: 20) { title } course(id: ${course.id}) { title }
    offers(limit: 20) { fee note } coursesAggregate { count } }`
  const graphql = await call('/graphql', { method: 'POST', headers, body: { query } })
  answers['graphql'] = [graphql.status, graphql.text]
  const events = await call('/api/v1/events?after=0&limit=1000', { headers })
  answers['events'] = [events.status, events.text]
  return answers
}

const marksIn = (text: string) => new Set(text.match(/<of (?:\d+|null)>/g))

function json(answer: unknown) {
  const [status, text] = answer as readonly [number, string]
  assert.equal(status, 200, text)
  return JSON.parse(text)
}

/** What a credential must be told: all that belongs to its app, and nothing of others. */
function assertAnswers(answers: Answers, { name, app }: Credential, courses: readonly Course[]): void {
  const own = courses.filter(course => app !== null && course.app === app)
  const others = courses.filter(course => app === null || course.app !== app)
  const idsOf = (list: { readonly data: readonly { readonly id: number }[] }) => list.data.map(({ id }) => id)
  const lists = Object.entries(answers).filter(([line]) => /^courses\?/.test(line) && !/partner/.test(line))
  for (const [line, answer] of lists) {
    const paged = /per_page/.test(line)
    const expected = own.map(({ id }) => id)
    const ids = idsOf(json(answer))
    if (paged)
      assert.deepEqual(
        ids.filter(id => !expected.includes(id)),
        [],
        `${name}: ${line}`,
      )
    else
      assert.deepEqual(
        ids.toSorted((a, b) => a - b),
        expected,
        `${name}: ${line}`,
      )
  }
  const first = json(lists[0]?.[1])
  assert.equal(first.meta.total, own.length, name)
  for (const item of first.data) assert.deepEqual([item.lesson_count, item.own], [1, 1], name)
  const groups = json(answers['courses/aggregate?count&group_by=partner_id']).data
  assert.deepEqual(groups, own.length === 0 ? [] : [{ partner_id: app, count: own.length }], name)
  assert.equal(json(answers['lessons/aggregate?count']).data[0]?.count ?? 0, own.length, name)
  // Titles, lessons and fees.
  const secret = Object.entries(answers).filter(([line]) => !/^(offers|reviews|events|graphql)/.test(line))
  for (const [line, answer] of secret) {
    const marks = marksIn(String((answer as readonly unknown[])[1]))
    assert.deepEqual(
      [...marks].filter(found => found !== mark(app)),
      [],
      `${name}: ${line}`,
    )
  }
  const offers = json(answers['offers?total=exact&sort=id']).data
  assert.equal(offers.length, courses.length)
  for (const offer of offers) {
    const isOwn = app !== null && offer.partner_id === app
    const shown = [isOwn ? `fee ${mark(app)}` : null, isOwn ? null : `note ${mark(offer.partner_id)}`]
    assert.deepEqual([offer.fee, offer.note], shown, name)
  }
  assert.equal(idsOf(json(answers['offers?fee[contains]=of&fields=id'])).length, own.length, name)
  assert.equal(idsOf(json(answers['offers?note[contains]=of&fields=id'])).length, others.length, name)
  const reviews = json(answers['reviews?total=exact'])
  assert.equal(reviews.meta.total, others.length, name)
  assert.ok(!marksIn(JSON.stringify(reviews)).has(mark(app)) || app === null, name)
  const { data } = json(answers['graphql'])
  assert.deepEqual(
    data.courses.map(({ id }: { id: number }) => Number(id)),
    own.map(({ id }) => id),
    name,
  )
  assert.equal(data.reviews.length, others.length, name)
  assert.equal(data.coursesAggregate[0]?.count ?? 0, own.length, name)
  assert.equal(data.offers.filter(({ fee }: { fee: string | null }) => fee !== null).length, own.length, name)
  const events: { readonly collection: string; readonly data: object }[] = json(answers['events']).data
  const told = (collection: string) => events.filter(event => event.collection === collection)
  const counts = ['courses', 'lessons', 'offers', 'reviews'].map(collection => told(collection).length)
  assert.deepEqual(counts, [own.length, own.length, courses.length, others.length], name)
  for (const event of [...told('courses'), ...told('lessons')])
    assert.deepEqual(marksIn(JSON.stringify(event)), new Set([mark(app)]), name)
}

for (const setup of chosen([sqlite, postgres, postgresRowSecurity])) {
  test(`each credential sees what belongs to its app, and nothing else (${setup.name})`, () =>
    withFixture(
      { rateLimit: 'off' },
      async fixture => {
        const credentials = await credentialsOf(fixture)
        const courses = await seed(fixture, credentials)
        // Twice and at once: some share the user and all rights, and so caches.
        for (const order of [credentials, credentials.toReversed()]) {
          await Promise.all(
            order.map(async (credential, index) => {
              const course = courses[(index * 5) % courses.length] as Course
              const answers = await readAll(fixture, credential, course)
              assertAnswers(answers, credential, courses)
              const isOwn = credential.app !== null && credential.app === course.app
              const [status] = answers[`courses/${course.id}?include=lessons`] as readonly number[]
              assert.equal(status, isOwn ? 200 : 404, credential.name)
            }),
          )
        }
        await assertExplained(fixture, courses)
        await assertWrites(fixture, credentials, courses)
      },
      declared,
      setup,
    ))
}

/** An explanation says which app a rule was asked about. */
async function assertExplained({ call, ann, admin }: Fixture, courses: readonly Course[]): Promise<void> {
  const listed = await call('/api/v1/api_keys?sort=id', { key: ann.key })
  const keys = listed.json['data'] as readonly { readonly id: number; readonly name: string }[]
  const made = keys.find(({ name }) => name === 'made')
  const [first] = courses
  const explain = async (subject: object) => {
    const body = { ...subject, path: `/courses/${first?.id}` }
    const { json, text } = await call('/api/v1/explain', { method: 'POST', key: admin.key, body })
    assert.equal(json['allowed'], false, text)
    return text
  }
  assert.match(await explain({ api_key: made?.id }), /the caller's app is 1/)
  assert.match(await explain({ as: ann.id }), /there is no app/)
  const other = courses.find(({ app }) => app !== null && app !== first?.app)
  for (const subject of [{ as: ann.id, app: other?.app }, { app: other?.app }]) {
    const explained = async (course: Course | undefined) => {
      const body = { ...subject, path: `/courses/${course?.id}` }
      return (await call('/api/v1/explain', { method: 'POST', key: admin.key, body })).json
    }
    const [hidden, shown] = [await explained(first), await explained(other)]
    assert.deepEqual([hidden['status'], shown['status']], [404, 200], JSON.stringify([hidden, shown]))
    assert.match(JSON.stringify(hidden), new RegExp(`the caller's app is ${other?.app}`))
  }
}

/** Changes of another app's items are refused as if these did not exist, and one cannot be given to another app. */
async function assertWrites(
  { call }: Fixture,
  credentials: readonly Credential[],
  courses: readonly Course[],
): Promise<void> {
  for (const { name, headers, app } of credentials) {
    for (const course of courses) {
      const path = `/api/v1/courses/${course.id}`
      const isOwn = app !== null && course.app === app
      const changed = await call(path, { method: 'PATCH', headers, body: { kind: 'course' } })
      assert.equal(changed.status, isOwn ? 200 : 404, `${name}: ${changed.text}`)
      const given = await call(path, { method: 'PATCH', headers, body: { partner_id: null } })
      assert.ok(given.status >= 400, `${name}: ${given.text}`)
    }
  }
  // An app names itself, although it may not read `oauth_apps`, and no other.
  const apps = [...new Set(credentials.map(({ app }) => app))]
  for (const { name, headers, app } of credentials.filter(credential => credential.app !== null)) {
    const create = async (partner: number | null) => {
      const body = { title: 'named', partner_id: partner }
      return (await call('/api/v1/reviews', { method: 'POST', headers, body })).status
    }
    assert.equal(await create(app), 201, name)
    // Ann's apps, and all for an administrator.
    const mayRead = !/^(?:Ben|One|Two) /.test(name)
    for (const other of apps)
      if (other !== null && other !== app && !mayRead) assert.equal(await create(other), 400, name)
  }
  const last = credentials.at(-1) as Credential
  const [own, other] = [courses.at(-1), courses.at(-2)] as [Course, Course]
  const remove = async ({ id }: Course) =>
    (await call(`/api/v1/courses/${id}`, { method: 'DELETE', headers: last.headers })).status
  assert.deepEqual([await remove(other), await remove(own)], [404, 204])
}
