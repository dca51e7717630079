/** Bodies of requests, whole and within a bound. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../errors.ts'

const empty = Buffer.alloc(0)

export function tooLarge(limit: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The body may have at most ${limit} bytes.`)
}

function brokenOff(): ApiError {
  return new ApiError('REQUEST_TIMEOUT', 'The connection ended before the body did.')
}

interface QueuedRead {
  readonly req: IncomingMessage
  readonly limit: number
  readonly resolve: (body: Buffer) => void
  readonly reject: (error: Error) => void
}

/** Bodies that may arrive within this turn of the event loop. */
let queuedReads: QueuedRead[] = []

function takeAll(): void {
  const reads = queuedReads
  queuedReads = []
  for (const read of reads) take(read)
}

function take(one: QueuedRead): void {
  if (one.req.destroyed) one.reject(brokenOff())
  else if (one.req.complete) takeWhole(one)
  else collect(one)
}

/**
 * The whole body, of at most `limit` bytes: rejects with PAYLOAD_TOO_LARGE beyond, with REQUEST_TIMEOUT where the
 * connection ends first. A short body arrives with the headers: at the end of the turn it is complete, and no event
 * need be awaited.
 */
export function bodyOf(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (req.complete) return take({ req, limit, resolve, reject })
    if (queuedReads.length === 0) setImmediate(takeAll)
    queuedReads.push({ req, limit, resolve, reject })
  })
}

function takeWhole({ req, limit, resolve, reject }: QueuedRead): void {
  const length = req.readableLength
  const first: Buffer = req.read() ?? empty
  if (length > limit) reject(tooLarge(limit))
  else resolve(first.length === length ? first : Buffer.concat([first, ...rest(req)]))
}

/** What is left in the stream's memory, whose pieces come one by one. */
function* rest(req: IncomingMessage): Generator<Buffer> {
  while (req.readableLength > 0) yield req.read()
}

/** Not a function of `collect`, which would hold on to all that its closures share. */
function ignore(): void {}

function collect({ req, limit, resolve, reject }: QueuedRead): void {
  const chunks: Buffer[] = []
  let length = 0
  // The request lives as long as its response, which may be a stream: it must not keep the body.
  const leave = () => req.off('data', add).off('end', finish).off('close', abort)
  const stop = (error: Error) => {
    leave()
    req.pause()
    reject(error)
  }
  const add = (chunk: Buffer) => {
    length += chunk.length
    if (length > limit) return stop(tooLarge(limit))
    chunks.push(chunk)
  }
  const finish = () => {
    leave()
    const [first] = chunks
    resolve(first && chunks.length === 1 ? first : Buffer.concat(chunks, length))
  }
  const abort = () => stop(brokenOff())
  req.on('data', add).on('end', finish).on('close', abort)
  req.on('error', ignore)
}
