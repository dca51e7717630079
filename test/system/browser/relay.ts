/** A relay between a browser and a service, whose connections can be cut. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Relay {
  readonly url: string
  /** The port to which connections are relayed. */
  port: number
  /** Closes every connection, and refuses new ones. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

export async function openRelay(): Promise<Relay> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(client => {
    if (isCut) return client.destroy()
    const upstream = connect(relay.port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
    return undefined
  })
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    port: 0,
    cut() {
      isCut = true
      destroyAll()
    },
    restore() {
      isCut = false
    },
    async close() {
      destroyAll()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return relay
}
