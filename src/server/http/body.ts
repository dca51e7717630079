/** Reads whole request bodies, within a bound. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../base/errors.ts'

const empty = Buffer.alloc(0)

export function tooLarge(limitBytes: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The body may have at most ${limitBytes} bytes.`)
}

export function incompleteBody(): ApiError {
  return new ApiError('REQUEST_TIMEOUT', 'The connection ended before the body did.')
}

interface BodyRead {
  readonly req: IncomingMessage
  readonly limitBytes: number
  readonly resolve: (body: Buffer) => void
  readonly reject: (error: Error) => void
}

/** Bodies that may arrive within this turn of the event loop. */
let queuedReads: BodyRead[] = []

function readQueued(): void {
  const reads = queuedReads
  queuedReads = []
  for (const read of reads) run(read)
}

function run(read: BodyRead): void {
  if (read.req.destroyed) read.reject(incompleteBody())
  else if (read.req.complete) readBuffered(read)
  else collect(read)
}

/**
 * Reads the whole body. Rejects with PAYLOAD_TOO_LARGE beyond `limitBytes`, and with REQUEST_TIMEOUT if the connection
 * ends first. A short body arrives with the headers: at the end of the turn it is complete, so no event is awaited.
 */
export function readBody(req: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (req.complete) return run({ req, limitBytes, resolve, reject })
    if (queuedReads.length === 0) setImmediate(readQueued)
    queuedReads.push({ req, limitBytes, resolve, reject })
  })
}

function readBuffered({ req, limitBytes, resolve, reject }: BodyRead): void {
  const length = req.readableLength
  const first: Buffer = req.read() ?? empty
  if (length > limitBytes) reject(tooLarge(limitBytes))
  else resolve(first.length === length ? first : Buffer.concat([first, ...bufferedChunks(req)]))
}

/** The chunks that remain in the stream's buffer. */
function* bufferedChunks(req: IncomingMessage): Generator<Buffer> {
  while (req.readableLength > 0) yield req.read()
}

/** Not a closure within `collect`, which would keep alive everything that its closures share. */
function ignore(): void {}

function collect({ req, limitBytes, resolve, reject }: BodyRead): void {
  const chunks: Buffer[] = []
  let length = 0
  // The request lives as long as its response, which may be a stream: it must not keep the body alive.
  const removeListeners = () => req.off('data', add).off('end', finish).off('close', abort)
  const fail = (error: Error) => {
    removeListeners()
    req.pause()
    reject(error)
  }
  const add = (chunk: Buffer) => {
    length += chunk.length
    if (length > limitBytes) return fail(tooLarge(limitBytes))
    chunks.push(chunk)
  }
  const finish = () => {
    removeListeners()
    const [first] = chunks
    resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks, length))
  }
  const abort = () => fail(incompleteBody())
  req.on('data', add).on('end', finish).on('close', abort)
  req.on('error', ignore)
}
