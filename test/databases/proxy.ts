/** A proxy between clients and a PostgreSQL server. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'

/** One connection through the proxy. */
interface Link {
  readonly down: Socket
  readonly up: Socket
  /** What the client has sent. */
  sent: string
}

/** Starts a proxy to the server in the URL. `isSilent` drops everything in both directions. */
export async function proxyOf(url: string) {
  const target = new URL(url)
  const host = decodeURIComponent(target.hostname)
  const port = Number(target.port || 5432)
  const sockets = new Set<Socket>()
  const links: Link[] = []
  const state = { isSilent: false }
  const server = createServer(down => {
    const up = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    const link: Link = { down, up, sent: '' }
    links.push(link)
    down.on('data', data => {
      link.sent += data.toString('latin1')
    })
    for (const [from, to] of [
      [down, up],
      [up, down],
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
    linkOf(text: string): Link {
      const link = links.findLast(({ sent }) => sent.includes(text))
      assert.ok(link, `no client has sent ${text}`)
      return link
    },
    /** Closes all connections, since those that were silent have lost data. */
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
