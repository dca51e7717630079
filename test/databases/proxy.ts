/** Between clients and a PostgreSQL server. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'

/** One connection through it. */
interface Link {
  readonly down: Socket
  readonly up: Socket
  /** What the client said on it. */
  said: string
}

/** Between a client and the server that the URL names: `isSilent` holds back everything, both ways. */
export async function proxyOf(url: string) {
  const target = new URL(url)
  const host = decodeURIComponent(target.hostname)
  const port = Number(target.port || 5432)
  const sockets = new Set<Socket>()
  const links: Link[] = []
  const state = { isSilent: false }
  const server = createServer(down => {
    const up = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    const link: Link = { down, up, said: '' }
    links.push(link)
    down.on('data', data => {
      link.said += data.toString('latin1')
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
    /** The last connection on which this was said. */
    linkOf(text: string): Link {
      const link = links.findLast(({ said }) => said.includes(text))
      assert.ok(link, `nobody said ${text}`)
      return link
    },
    /** What was held back is lost: connections that knew silence are of no use any more. */
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
