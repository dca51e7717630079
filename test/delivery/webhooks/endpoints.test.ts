/**
 * Endpoints over HTTP that are slow, endless, gone, redirecting or internal: each delivery is logged, and none delays
 * others.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { Outgoing } from '../../../src/delivery/outgoing/outgoing.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, within } from './fixture.ts'

type EndpointResponse = (response: ServerResponse, request: IncomingMessage) => void

interface EndpointsFixture extends Fixture {
  /** The URL of the test server. */
  readonly origin: string
  /** Handlers by path. */
  readonly answers: Record<string, EndpointResponse>
  /** The requested paths, in order. */
  readonly requestedPaths: string[]
}

const [sqlite] = databaseKinds

function withServer(use: (fixture: EndpointsFixture) => Promise<void>) {
  if (sqlite === undefined) throw new Error('SQLite is missing')
  return within(sqlite, async fixture => {
    const answers: Record<string, EndpointResponse> = {}
    const requestedPaths: string[] = []
    const server = createServer((request, response) => {
      const path = request.url ?? ''
      requestedPaths.push(path)
      request.resume()
      const answer = answers[path]
      if (answer) answer(response, request)
      else response.writeHead(204).end()
    })
    await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      await use({ ...fixture, origin, answers, requestedPaths })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
}

async function withOutgoing(
  options: ConstructorParameters<typeof Outgoing>[0],
  use: (outgoing: Outgoing) => Promise<void>,
): Promise<void> {
  const outgoing = new Outgoing(options)
  try {
    await use(outgoing)
  } finally {
    await outgoing.close()
  }
}

const first = async ({ deliveries }: Fixture) => (await deliveries())[0]

describe('webhook endpoints', () => {
  it(
    'that never respond, or send byte by byte, do not delay other webhooks',
    withServer(async fixture => {
      const { webhook, post, sender, until, origin, answers, requestedPaths } = fixture
      answers['/never'] = () => undefined
      answers['/drips'] = response => void response.writeHead(200).write('x')
      await withOutgoing({ allowPrivate: true }, async outgoing => {
        for (let times = 0; times < 6; times++) {
          await webhook({ url: `${origin.replace('127.0.0.1', `127.0.0.${times + 2}`)}/never` })
        }
        for (const path of ['/never', '/drips', '/good']) await webhook({ url: `${origin}${path}` })
        // On a busy machine, too, the hanging requests outlast the others.
        const patient: Pick<Outgoing, 'request'> = {
          request: request => outgoing.request({ ...request, timeoutMs: 600_000 }),
        }
        const sending = sender({ outgoing: patient })
        for (let times = 0; times < 20; times++) await post(`post ${times}`)
        await until(
          () => requestedPaths.filter(path => path === '/good').length === 20,
          '/good has received all events',
        )
        // None of the hanging requests has ended by then.
        assert.ok(sending.state.inFlight > 0)
        assert.equal(sending.counts.retried, 0)
        await outgoing.close()
      })
    }),
  )

  it(
    'with an endless body are judged by the status, and the beginning of the body is stored',
    withServer(async fixture => {
      const { webhook, post, sender, until, origin, answers } = fixture
      answers['/endless'] = response => {
        response.writeHead(200)
        const more = () =>
          void (response.destroyed || (response.write('x'.repeat(65_536)) && setImmediate(more)))
        response.on('drain', more)
        more()
      }
      await withOutgoing({ allowPrivate: true }, async outgoing => {
        await webhook({ url: `${origin}/endless` })
        sender({ outgoing })
        await post()
        await until(async () => (await first(fixture))?.status === 'succeeded', 'it is recorded')
        assert.equal((await first(fixture))?.response_excerpt, 'x'.repeat(1000))
      })
    }),
  )

  it(
    'that redirect are not followed, and the failure names the redirect',
    withServer(async fixture => {
      const { webhook, post, sender, until, origin, answers, requestedPaths } = fixture
      answers['/redirects'] = response => response.writeHead(307, { Location: `${origin}/inside` }).end()
      await withOutgoing({ allowPrivate: true }, async outgoing => {
        await webhook({ url: `${origin}/redirects` })
        sender({ outgoing })
        await post()
        await until(async () => (await first(fixture))?.attempt === 1, 'it is recorded')
        const row = await first(fixture)
        assert.deepEqual([row?.status, row?.response_status], ['pending', 307])
        assert.match(String(row?.error), /redirects are not followed/)
        assert.ok(!requestedPaths.includes('/inside'))
      })
    }),
  )

  it(
    'that send Retry-After delay all of their deliveries',
    withServer(async fixture => {
      const { webhook, post, sender, until, origin, answers, requestedPaths, clock } = fixture
      answers['/busy'] = response => {
        if (requestedPaths.length === 1) response.writeHead(429, { 'Retry-After': '600' }).end()
        else response.writeHead(204).end()
      }
      await withOutgoing({ allowPrivate: true }, async outgoing => {
        await webhook({ url: `${origin}/busy` })
        sender({ outgoing })
        await post('one')
        await until(async () => (await first(fixture))?.attempt === 1, 'it is recorded')
        const askedAt = clock.now()
        await post('two')
        await until(() => requestedPaths.length >= 2, 'another is sent', 30_000)
        assert.ok(clock.now() - askedAt >= 570_000)
        await until(() => requestedPaths.length === 3, 'both are sent', 30_000)
      })
    }),
  )

  for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254']) {
    it(
      `at the internal address ${host} are not called, and the delivery states the reason`,
      withServer(async fixture => {
        const { webhook, post, sender, until, requestedPaths, origin } = fixture
        await withOutgoing({ allowPrivate: false }, async outgoing => {
          await webhook({ url: `http://${host}:${new URL(origin).port}/inside` })
          sender({ outgoing })
          await post()
          await until(async () => (await first(fixture))?.attempt === 1, 'it is recorded')
          const row = await first(fixture)
          assert.equal(row?.response_status, null)
          assert.match(String(row?.error), /does not have a public address/)
          assert.deepEqual(requestedPaths, [])
        })
      }),
    )
  }

  it(
    'whose name resolves to an internal address are refused at each attempt',
    withServer(async fixture => {
      const { webhook, post, sender, until, requestedPaths, deliveries } = fixture
      let lookups = 0
      const lookup = ((
        _name: string,
        _options: object,
        callback: (error: null, addresses: object[]) => void,
      ) => {
        lookups++
        callback(null, [{ address: '127.0.0.1', family: 4 }])
      }) as never
      await withOutgoing({ allowPrivate: false, lookup }, async outgoing => {
        await webhook({ url: 'http://inside.example/inside' })
        sender({ outgoing })
        await post()
        await until(
          async () => Number((await deliveries())[0]?.attempt) >= 2,
          'the delivery has failed twice',
          1000,
        )
        assert.ok(lookups >= 2)
        assert.match(String((await first(fixture))?.error), /does not have a public address/)
        assert.deepEqual(requestedPaths, [])
      })
    }),
  )
})
