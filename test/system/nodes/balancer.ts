/** A round-robin load balancer: each request goes to the next node. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Balancer {
  readonly url: string
  /** The number of requests forwarded to each port. */
  readonly forwarded: ReadonlyMap<number, number>
  close(): Promise<void>
}

/** `ports`: those of the current nodes. A node that refuses a connection is skipped. */
export async function openBalancer(ports: () => readonly number[]): Promise<Balancer> {
  const forwarded = new Map<number, number>()
  const openSockets = new Set<Duplex>()
  let nextIndex = 0
  /** All nodes, the next one first. */
  const order = () => {
    const all = ports()
    const first = all.length === 0 ? 0 : nextIndex++ % all.length
    return [...all.slice(first), ...all.slice(0, first)]
  }
  const connectToNext = async (): Promise<Socket | undefined> => {
    for (const port of order()) {
      const socket = await connectTo(port)
      if (!socket) continue
      forwarded.set(port, (forwarded.get(port) ?? 0) + 1)
      track(openSockets, socket)
      return socket
    }
    return undefined
  }
  const server = createServer((incoming, outgoing) => {
    connectToNext().then(
      socket => (socket ? forward(incoming, outgoing, socket) : outgoing.writeHead(502).end()),
      () => outgoing.destroy(),
    )
  })
  // Long enough that no connection is closed while a delayed client sends its next request on it.
  server.keepAliveTimeout = 60_000
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    connectToNext().then(socket =>
      socket ? forwardUpgrade(incoming, client, head, socket) : client.destroy(),
    )
  })
  server.on('connection', socket => track(openSockets, socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwarded,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of openSockets) socket.destroy()
      }),
  }
}

function track(openSockets: Set<Duplex>, socket: Duplex): void {
  openSockets.add(socket)
  socket.once('close', () => openSockets.delete(socket))
}

function connectTo(port: number): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, socket: Socket): void {
  const { method, url, rawHeaders } = incoming
  const sent = request({ method, path: url, headers: rawHeaders, createConnection: () => socket })
  sent.on('response', response => {
    const { statusCode = 502, statusMessage, rawHeaders: headers } = response
    // The balancer manages the client's connection itself.
    const endToEnd = headers.filter(
      (_, index) => !/^(connection|keep-alive)$/i.test(headers[index - (index % 2)] ?? ''),
    )
    outgoing.writeHead(statusCode, statusMessage, endToEnd)
    outgoing.flushHeaders()
    response.pipe(outgoing)
    response.on('error', () => outgoing.destroy())
  })
  sent.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()))
  outgoing.on('close', () => socket.destroy())
  incoming.pipe(sent)
}

function forwardUpgrade(
  { method, url, rawHeaders }: IncomingMessage,
  client: Duplex,
  head: Buffer,
  socket: Socket,
): void {
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? `${name}: ${rawHeaders[index + 1]}` : [],
  )
  socket.write(`${method} ${url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  socket.write(head)
  const end = () => {
    client.destroy()
    socket.destroy()
  }
  client.on('error', end).on('close', end)
  socket.on('error', end).on('close', end)
  socket.pipe(client)
  client.pipe(socket)
}
