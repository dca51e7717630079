/** A proxy between clients and a PostgreSQL server. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'

/** One connection through the proxy. */
interface ProxiedConnection {
  readonly client: Socket
  readonly upstream: Socket
  /** The bytes that the client has sent, as Latin-1. */
  sent: string
}

/** Starts a proxy to the server in the URL. `isSilent` drops everything in both directions. */
export async function openProxy(url: string) {
  const target = new URL(url)
  const host = decodeURIComponent(target.hostname)
  const port = Number(target.port || 5432)
  const sockets = new Set<Socket>()
  const connections: ProxiedConnection[] = []
  const state = { isSilent: false }
  const server = createServer(client => {
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    const connection: ProxiedConnection = { client, upstream, sent: '' }
    connections.push(connection)
    client.on('data', data => {
      connection.sent += data.toString('latin1')
    })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', data => void (state.isSilent || to.write(data)))
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  return {
    url: `postgres://${target.username}${target.password && `:${target.password}`}@127.0.0.1:${address.port}${target.pathname}`,
    state,
    /** The last connection on which the client has sent this text. */
    connectionWith(text: string): ProxiedConnection {
      const connection = connections.findLast(({ sent }) => sent.includes(text))
      assert.ok(connection, `no client has sent ${text}`)
      return connection
    },
    /** Closes all connections, since those that were silent have lost data. */
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
