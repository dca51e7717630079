/** Published values: the same number for every caller, and nothing else of the hidden rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  choice,
  collection,
  computed,
  count,
  field,
  index,
  integer,
  manyToMany,
  max,
  minus,
  model,
  nobody,
  not,
  number,
  owner,
  related,
  relation,
  role,
  string,
  sum,
  text,
  users,
} from '../../../src/index.ts'
import type { TestService } from '../../../src/testing.ts'
import { chosen } from '../../chosen.ts'
import { serviceSetups } from '../../setups/databases/services.ts'

const taken = field('status').ne('cancelled')
const asSystem = true

const declared = model({
  rooms: collection({ fields: { name: string() }, access: { read: anyone } }),
  sessions: collection({
    fields: { name: string(), seats: integer(), room_id: relation('rooms', { inverse: 'sessions' }) },
    relations: { tags: manyToMany('tags', { through: 'session_tags', from: 'session_id', to: 'tag_id' }) },
    computed: {
      booked: count('bookings', { where: taken, asSystem, stored: true }),
      free: minus(field('seats'), count('bookings', { where: taken, asSystem })),
      paid: sum('bookings', 'price', { asSystem }),
      last: max('bookings', 'at', { asSystem }),
      tagged: count('tags', { where: field('label').ne('x'), asSystem }),
      vips: count('bookings', { where: field('user.status').eq('vip'), asSystem }),
      invoiced: count('bookings', { where: related('invoices', not(field('total').lt(1))), asSystem }),
      own: count('bookings', taken),
      audited: computed(count('bookings', { asSystem }), { access: { read: role('admin') } }),
    },
    indexes: [index('-booked', 'name')],
    updatedAt: true,
    access: { read: anyone },
  }),
  users: users({
    fields: { status: string({ default: 'guest', access: { read: nobody } }) },
    access: { read: owner('id') },
  }),
  bookings: collection({
    fields: {
      note: text(),
      status: choice(['open', 'cancelled'], { default: 'open' }),
      price: number({ default: 0, access: { read: nobody } }),
      at: integer({ default: 1 }),
      session_id: relation('sessions', {
        inverse: 'bookings',
        access: { read: nobody },
        onDelete: 'cascade',
      }),
      user_id: relation('users', { inverse: 'bookings' }),
    },
    access: { read: owner('user_id') },
  }),
  invoices: collection({
    fields: {
      total: integer(),
      booking_id: relation('bookings', { inverse: 'invoices', onDelete: 'cascade' }),
    },
  }),
  tags: collection({ fields: { label: string() } }),
  session_tags: collection({
    fields: { session_id: relation('sessions', { onDelete: 'cascade' }), tag_id: relation('tags') },
  }),
})

type Service = TestService<typeof declared>

const published = ['booked', 'free', 'paid', 'last', 'tagged', 'vips', 'invoiced']
const fields = `fields=id,${published.join(',')}`
const numbers = `{ sessions(orderBy: [ID_ASC]) { ${published.join(' ')} } }`

/** Session 1 has three bookings, one of them cancelled, and two tags; session 2 has a booking. */
async function seed({ users: people, asSystem: all }: Service) {
  const admin = await people.create({ name: 'Root', role: 'admin' })
  const guest = await people.create({ name: 'Guest' })
  const vip = await people.create({ name: 'Vip', status: 'vip' })
  const stranger = await people.create({ name: 'Stranger' })
  await all.rooms.create({ name: 'Hall' })
  for (const name of ['One', 'Two']) await all.sessions.create({ name, seats: 5, room_id: 1 })
  const booking = { session_id: 1, user_id: guest.id, note: 'SECRET' }
  await all.bookings.create({ ...booking, price: 2.5, at: 7 })
  await all.bookings.create({ ...booking, price: 4, user_id: vip.id })
  await all.bookings.create({ ...booking, price: 8, status: 'cancelled' })
  await all.bookings.create({ ...booking, session_id: 2 })
  await all.invoices.create({ booking_id: 1, total: 1 })
  await all.invoices.create({ booking_id: 2, total: 0 })
  for (const label of ['x', 'y', 'z']) await all.tags.create({ label })
  for (const tag_id of [1, 2, 3]) await all.session_tags.create({ session_id: 1, tag_id })
  return { admin: admin.id, guest: guest.id, stranger: stranger.id }
}

const ofSessions = [
  { id: 1, booked: 2, free: 3, paid: 14.5, last: 7, tagged: 2, vips: 1, invoiced: 1 },
  { id: 2, booked: 1, free: 4, paid: 0, last: 1, tagged: 0, vips: 0, invoiced: 0 },
]

/** An API key that may only read sessions. */
async function keyOf(service: Service, as: number): Promise<Readonly<Record<string, string>>> {
  const body = { name: 'Sessions', scopes: ['read:session'] }
  const { body: key } = await service.request('POST /api/v1/api_keys', { as, body })
  return { authorization: `Bearer ${key.key}` }
}

/** Everything that a caller is told of hidden bookings, invoices and tags, in headers too. */
async function readEverything(service: Service, as: number | undefined) {
  const lines = [
    ...['rooms', 'sessions', 'bookings', 'invoices', 'tags', 'session_tags', 'users'].flatMap(name => [
      `GET /api/v1/${name}`,
      `GET /api/v1/${name}/1`,
      `GET /api/v1/${name}/aggregate?count`,
    ]),
    `GET /api/v1/sessions?${fields},own&sort=-booked,id`,
    `GET /api/v1/sessions/1?${fields}`,
    ...published.map(name => `GET /api/v1/sessions?${name}[gte]=1&fields=id`),
    'GET /api/v1/sessions/aggregate?group_by=booked&count&sum=free',
    'GET /api/v1/sessions?bookings.note=SECRET',
    'GET /api/v1/sessions/1/bookings',
    'GET /api/v1/sessions/1/tags',
    'GET /api/v1/rooms/1/sessions?fields=id,booked',
    'GET /api/v1/events?after=0&limit=1000&collections=bookings,sessions,tags',
  ]
  const caller = as === undefined ? {} : { as }
  const answers: unknown[] = []
  for (const line of lines) {
    const { status, text, headers } = await service.request(line, caller)
    answers.push([line, status, text.replace(/"request_id":"[^"]*"/, ''), headers.etag])
  }
  answers.push(
    (await service.request('POST /graphql', { ...caller, body: { query: numbers } })).text,
    (
      await service.request('POST /graphql', {
        ...caller,
        body: { query: '{ bookings { id } tags { id } }' },
      })
    ).body.data,
  )
  return answers
}

for (const { name, within } of chosen(serviceSetups)) {
  test(`a published value is the same for every caller, by the scope of its own collection (${name})`, () =>
    within(declared, async service => {
      const { admin, guest, stranger } = await seed(service)
      const key = await keyOf(service, guest)
      for (const caller of [{}, { as: stranger }, { as: guest }, { as: admin }, { headers: key }]) {
        const read = async (line: string) => (await service.request(`GET /api/v1/${line}`, caller)).body
        assert.deepEqual((await read(`sessions?${fields}&sort=id`)).data, ofSessions)
        assert.deepEqual(await read(`sessions/2?${fields}`), ofSessions[1])
        assert.deepEqual((await read('sessions?free=3&fields=id')).data, [{ id: 1 }])
        assert.deepEqual((await read('sessions?sort=booked&fields=id')).data, [{ id: 2 }, { id: 1 }])
        const groups = (await read('sessions/aggregate?group_by=booked&sum=free&sort=booked')).data
        assert.deepEqual(
          groups.map(({ booked, sum: { free } }: { booked: number; sum: { free: number } }) => [
            booked,
            free,
          ]),
          [
            [1, 4],
            [2, 3],
          ],
        )
        const { body } = await service.request('POST /graphql', { ...caller, body: { query: numbers } })
        assert.deepEqual(
          body.data.sessions,
          ofSessions.map(({ id, ...values }) => values),
        )
        const operations = [{ method: 'GET', path: `/sessions/1?${fields}` }]
        const batch = await service.request('POST /api/v1/batch', { ...caller, body: { operations } })
        assert.deepEqual(batch.body.results[0].body, ofSessions[0])
      }
      // The same rows without `asSystem` need their scope, and a rule of the field itself holds as for any other.
      const refused = await service.request('GET /api/v1/sessions?fields=own', { headers: key })
      assert.equal(refused.body.error.code, 'INSUFFICIENT_SCOPE')
      assert.equal((await service.request('GET /api/v1/sessions?fields=audited', { as: guest })).status, 400)
      assert.equal((await service.as(admin).sessions.get(1, { fields: ['audited'] }))?.audited, 3)
    }))

  test(`a change of hidden items shows in nothing but the published value (${name})`, () =>
    within(declared, async service => {
      const { stranger } = await seed(service)
      const callers = [undefined, stranger]
      const readAll = () => Promise.all(callers.map(as => readEverything(service, as)))
      const { asSystem: all } = service
      const before = await readAll()
      // Other items with the same numbers.
      const { id } = await all.bookings.create({ session_id: 2, user_id: 2, note: 'OTHER', price: 0 })
      await all.bookings.delete(4)
      await all.bookings.update(1, { note: 'OTHER' })
      await all.tags.update(2, { label: 'OTHER' })
      assert.deepEqual(await readAll(), before)
      await all.bookings.update(id, { status: 'cancelled' })
      await all.bookings.update(2, { price: 5 })
      await all.session_tags.delete(3)
      for (const as of callers) {
        const caller = as === undefined ? {} : { as }
        const { data } = (await service.request(`GET /api/v1/sessions?${fields}&sort=id`, caller)).body
        assert.deepEqual(data, [
          { ...ofSessions[0], paid: 15.5, tagged: 1 },
          { ...ofSessions[1], booked: 0, free: 5 },
        ])
      }
      const plain = (answers: readonly unknown[]) =>
        answers.filter(answer => Array.isArray(answer) && !/booked|free|paid|tagged/.test(String(answer[0])))
      assert.deepEqual((await readAll()).map(plain), before.map(plain))
      // A deleted parent takes its number along, and nothing else changes.
      await all.sessions.delete(1)
      assert.equal((await service.request(`GET /api/v1/sessions/1?${fields}`)).status, 404)
    }))
}
