/** Costly documents are refused on every transport before anything is executed, and use little CPU time. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { admin } from './blog.ts'
import { type MeasuredService, openMeasuredService, type Usage } from './measured-service.ts'
import { json, openWebSocket, post, until } from './service.ts'

let blog: MeasuredService
before(async () => {
  blog = await openMeasuredService()
  await post(blog.graphql, { query: '{ __typename }' }, { ...json, ...admin })
})
after(() => blog.close())

const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ')
/** Every fragment spreads the next one twice. */
const dag = (levels: number) =>
  `{ ...f0 } ${many(levels, at => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f${levels} on Query { __typename }`
const nested = (levels: number) =>
  `{ posts { ${'author { posts { '.repeat(levels)} id ${'} }'.repeat(levels)} } }`

const costlyDocuments: readonly [name: string, query: string, message: RegExp][] = [
  ['10,000 aliases', `{ ${many(10_000, at => `a${at}: __typename`)} }`, /token|character/i],
  ['300 aliases', `{ ${many(300, at => `a${at}: __typename`)} }`, /alias.*30|30.*alias/i],
  ['a depth of 1,000', nested(500), /token|depth|character/i],
  ['a depth of 40', nested(20), /dep.*12|12.*dep/i],
  ['a fragment cycle', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }', /itself|cycle/i],
  ['fragments that double 60 times', dag(60), /field|spread|fragment/i],
  [
    'huge lists, nested',
    '{ users(limit: 100) { posts(limit: 100) { author { posts(limit: 100) { id } } } } }',
    /cost.*5,?000|5,?000/i,
  ],
  ['a list over the limit', '{ posts(limit: 101) { id } }', /100/],
  [
    'a flood of directives',
    `{ __typename ${many(900, () => '@include(if: true)')} }`,
    /token|directive|character/i,
  ],
  ['1 MB of tokens', `{ ${'a '.repeat(500_000)} }`, /token|character/i],
  ['1 MB of brackets', '{a'.repeat(500_000), /token|character/i],
  [
    'introspection ten levels deep',
    `{ __schema { types { ${'fields { type { '.repeat(10)} name ${'} }'.repeat(10)} } } }`,
    /10 nested lists of an introspection.*at most 1/,
  ],
  // The maximum number of tokens, so that they are parsed and validated.
  ['1,980 unknown fields', `{ me { ${many(1980, at => `x${at}`)} } }`, /Cannot query field/],
  [
    '270 unused fragments',
    `{ me { id } } ${many(270, at => `fragment F${at} on User { id }`)}`,
    /never used/,
  ],
  [
    '100 operations that share 100 fragments',
    `${many(100, at => `query q${at} { me { ...F0 } }`)} ${many(100, at => `fragment F${at} on User { ...F${at + 1} }`)} fragment F100 on User { id }`,
    /selects 10300 fields.*at most 5000/,
  ],
  [
    '650 arguments with the same name',
    `{ posts(${many(650, () => 'limit: 1')}) { id } }`,
    /only one argument/,
  ],
  [
    'a filter of 200 parts',
    `{ posts(filter: {or: [${many(200, at => `{id: {eq: "${at}"}}`)}]}) { id } }`,
    /more than 100 conditions/,
  ],
]

type Errors = readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[]

/** Each transport returns the errors that a document is refused with. */
const transports: Readonly<Record<string, (query: string) => Promise<Errors>>> = {
  POST: async query => errorsOf(await post(blog.graphql, { query }, { ...json, ...admin })),
  'POST for a stream': async query =>
    errorsOf(await post(blog.graphql, { query }, { ...json, ...admin, Accept: 'text/event-stream' })),
  GET: async query =>
    errorsOf(await fetch(`${blog.graphql}?query=${encodeURIComponent(query)}`, { headers: admin })),
  WebSocket: overSocket,
}

async function errorsOf(response: Response): Promise<Errors> {
  const text = await response.text()
  assert.doesNotMatch(text, /"data"/)
  // A stream has the errors in its only event.
  const [, event] = /^event: next\ndata: (.*)$/m.exec(text) ?? []
  const { errors, error } = JSON.parse(event ?? text)
  return errors ?? [{ message: error.message, extensions: { code: error.code } }]
}

async function overSocket(query: string): Promise<Errors> {
  const opened = await openWebSocket(blog.socket)
  opened.send({ type: 'connection_init', payload: admin })
  await until(() => opened.messages.length === 1)
  opened.send({ id: '1', type: 'subscribe', payload: { query } })
  await until(() => opened.messages.length === 2)
  opened.socket.close()
  const { type, payload } = JSON.parse(opened.messages[1] ?? '')
  assert.equal(type, 'error')
  return payload
}

/** A URL is limited more than a body: there, the HTTP server refuses. */
const maxUrlLength = 16_000

/** The rounds for each document: other load on the machine can only increase the minimum. */
const rounds = 3
/** The processor time of a fixed piece of work, in milliseconds: a slow or busy machine needs more of it for everything. */
function unitMs(): number {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, name: `item ${id}` })))
  const takes = Array.from({ length: 3 }, () => {
    const was = process.cpuUsage()
    JSON.parse(text)
    const { user, system } = process.cpuUsage(was)
    return (user + system) / 1000
  })
  return Math.min(...takes)
}
/** In units, of all threads; about 4 ms each on the machines that were measured, where 1 to 6 ms are usual. */
const maxUnits = 5
/** The first round, including the threads of the compiler: 1 to 18 ms are usual. */
const maxFirstUnits = 20

for (const [transport, send] of Object.entries(transports)) {
  describe(transport, () => {
    for (const [name, query, message] of costlyDocuments) {
      it(`refuses ${name}`, async context => {
        const taken: Usage[] = []
        for (let round = 0; round < rounds; round++) {
          await blog.begin()
          const errors = await send(`${query}#${transport} ${round}`)
          taken.push(await blog.end())
          assert.ok(errors.length > 0)
          const messages = errors.map(error => error.message).join()
          if (transport !== 'GET' || encodeURIComponent(query).length < maxUrlLength)
            assert.match(messages, message)
          assert.doesNotMatch(JSON.stringify(errors), /INTERNAL_ERROR/)
        }
        const cpuMs = taken.map(measurement => measurement.cpuMs)
        const pauses = taken.map(measurement => measurement.maxDelayMs)
        context.diagnostic(`ms of CPU: ${cpuMs}; longest pauses: ${pauses}`)
        const unit = unitMs()
        assert.ok(Math.min(...cpuMs) < maxUnits * unit, `${cpuMs} ms of CPU, ${unit} for a unit`)
        assert.ok((cpuMs[0] ?? 0) < maxFirstUnits * unit, `${cpuMs} ms of CPU, ${unit} for a unit`)
      })
    }
  })
}

it('a subscription has the same limits', async () => {
  const query = `subscription { newPost { ${'author { posts { '.repeat(10)} id ${'} }'.repeat(10)} } }`
  for (const [name, send] of Object.entries(transports)) {
    assert.match((await send(query))[0]?.message ?? '', /dep|cost/i, name)
  }
})
