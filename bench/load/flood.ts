/**
 * A process that sends requests: at a constant `rate` regardless of the responses (open loop), or with `connections`
 * concurrent requests (closed loop). Prints the results as JSON.
 */
import { connect, type Socket } from 'node:net'

export interface Flood {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Requests per second; undefined: as fast as they are answered. */
  readonly rate: number | undefined
  readonly seconds: number
  /** The maximum number of connections. */
  readonly connections: number
}

/** The responses of one second. Times are in milliseconds since the request was due. */
export interface Second {
  readonly served: number[]
  readonly refused: number[]
  /** Other statuses, and connections that broke. */
  readonly failed: number
  /** Requests for which no connection was free. */
  readonly unsent: number
}

type MutableSecond = { -readonly [Name in keyof Second]: Second[Name] }

const flood: Flood = JSON.parse(process.argv[2] ?? '{}')
const lines = Object.entries({ Host: 'localhost', ...flood.headers }).map(
  ([name, value]) => `${name}: ${value}\r\n`,
)
const length = flood.body === undefined ? '' : `Content-Length: ${Buffer.byteLength(flood.body)}\r\n`
const text = `${flood.method} ${flood.path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${flood.body ?? ''}`
/** Replaced by another number in the path or body of each request: identical reads would share one answer. */
const placeholder = '@@@@@@'
const template = Buffer.from(text)
const numberAt = text.indexOf(placeholder)
/** Always six digits without a leading zero, so that it can be an id. */
let number = 100_000

function nextRequest(): Buffer {
  if (numberAt === -1) return template
  const request = Buffer.from(template)
  number = number === 999_999 ? 100_000 : number + 1
  request.write(String(number), numberAt)
  return request
}

const seconds: MutableSecond[] = Array.from({ length: Math.ceil(flood.seconds) + 1 }, () => {
  return { served: [], refused: [], failed: 0, unsent: 0 }
})
const start = performance.now()

function second(): MutableSecond {
  const index = Math.min(seconds.length - 1, Math.floor((performance.now() - start) / 1000))
  return seconds[index] as MutableSecond
}

class Connection {
  readonly #socket: Socket
  #due = 0
  #status = 0
  /** Bytes of the body that have not arrived; -1: the headers have not arrived. */
  #missing = -1
  #head = ''
  isOver = false

  constructor(onFree: (connection: Connection) => void) {
    this.#socket = connect({ port: flood.port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk: Buffer) => {
      if (this.#take(chunk)) onFree(this)
    })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      if (this.#due > 0) second().failed++
      this.isOver = true
      this.#due = 0
      onFree(this)
    })
  }

  send(due: number): void {
    this.#due = due
    this.#socket.write(nextRequest())
  }

  end(): void {
    this.#due = 0
    this.#socket.destroy()
  }

  /** Returns whether the response is complete. */
  #take(chunk: Buffer): boolean {
    if (this.#missing === -1) {
      this.#head += chunk.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end === -1) return false
      this.#status = Number(this.#head.slice(9, 12))
      const [, bytes] = /\r\nContent-Length: (\d+)/i.exec(this.#head.slice(0, end)) ?? []
      this.#missing = Number(bytes ?? 0) - (this.#head.length - end - 4)
    } else this.#missing -= chunk.length
    if (this.#missing > 0) return false
    this.#finish()
    return true
  }

  #finish(): void {
    const latencyMs = performance.now() - this.#due
    const current = second()
    if (this.#status >= 200 && this.#status < 300) current.served.push(latencyMs)
    else if (this.#status === 503) current.refused.push(latencyMs)
    else current.failed++
    this.#due = 0
    this.#missing = -1
    this.#head = ''
  }
}

const free: Connection[] = []
let open = 0
let isDone = false

function openConnection(): Connection {
  open++
  return new Connection(connection => {
    if (connection.isOver) {
      open--
      const index = free.indexOf(connection)
      if (index !== -1) free.splice(index, 1)
    } else if (isDone) connection.end()
    else if (flood.rate === undefined) connection.send(performance.now())
    else free.push(connection)
  })
}

function dispatch(due: number): void {
  const connection = free.pop() ?? (open < flood.connections ? openConnection() : undefined)
  if (connection === undefined) second().unsent++
  else connection.send(due)
}

let sent = 0
const { rate } = flood
if (rate === undefined)
  for (let nth = 0; nth < flood.connections; nth++) openConnection().send(performance.now())
const timer = setInterval(() => {
  const now = performance.now()
  if (rate === undefined) return
  for (const due = Math.floor(((now - start) / 1000) * rate); sent < due; sent++) {
    dispatch(start + (sent / rate) * 1000)
  }
}, 1)
setTimeout(() => {
  clearInterval(timer)
  isDone = true
  process.stdout.write(`${JSON.stringify(seconds)}\n`, () => process.exit())
}, flood.seconds * 1000)
