/** One address before several nodes: each request goes to the next one, whoever sent the last. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export interface Balancer {
  readonly url: string
  /** How many requests were passed on to each port. */
  readonly passed: ReadonlyMap<number, number>
  close(): Promise<void>
}

/** `ports`: of the nodes that are there now. A node that refuses a connection is passed over. */
export async function openBalancer(ports: () => readonly number[]): Promise<Balancer> {
  const passed = new Map<number, number>()
  const open = new Set<Duplex>()
  let turn = 0
  /** Every node once, the next one first. */
  const order = () => {
    const all = ports()
    const first = all.length === 0 ? 0 : turn++ % all.length
    return [...all.slice(first), ...all.slice(0, first)]
  }
  const reach = async (): Promise<Socket | undefined> => {
    for (const port of order()) {
      const socket = await connected(port)
      if (!socket) continue
      passed.set(port, (passed.get(port) ?? 0) + 1)
      keep(open, socket)
      return socket
    }
    return undefined
  }
  const server = createServer((asked, answer) => {
    reach().then(
      socket => (socket ? pass(asked, answer, socket) : answer.writeHead(502).end()),
      () => answer.destroy(),
    )
  })
  // No connection ends while a client that was held up sends its next request on it.
  server.keepAliveTimeout = 60_000
  server.on('upgrade', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    reach().then(socket => (socket ? join(asked, client, head, socket) : client.destroy()))
  })
  server.on('connection', socket => keep(open, socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

function keep(open: Set<Duplex>, socket: Duplex): void {
  open.add(socket)
  socket.once('close', () => open.delete(socket))
}

function connected(port: number): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}

function pass(asked: IncomingMessage, answer: ServerResponse, socket: Socket): void {
  const { method, url, rawHeaders } = asked
  const sent = request({ method, path: url, headers: rawHeaders, createConnection: () => socket })
  sent.on('response', told => {
    const { statusCode = 502, statusMessage, rawHeaders: headers } = told
    // The client's connection is the balancer's own.
    const kept = headers.filter((_, at) => !/^(connection|keep-alive)$/i.test(headers[at - (at % 2)] ?? ''))
    answer.writeHead(statusCode, statusMessage, kept)
    answer.flushHeaders()
    told.pipe(answer)
    told.on('error', () => answer.destroy())
  })
  sent.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()))
  answer.on('close', () => socket.destroy())
  asked.pipe(sent)
}

function join(
  { method, url, rawHeaders }: IncomingMessage,
  client: Duplex,
  head: Buffer,
  socket: Socket,
): void {
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? `${name}: ${rawHeaders[at + 1]}` : []))
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
