/** Receives files, a bounded number at once. */
import type { Call } from '../../../base/call.ts'
import { ApiError, temporaryRefusal } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { Quota } from '../../../base/quota.ts'
import type { Files, Upload } from '../../../engine/files/files.ts'

/** Of a worker, and of one user, app or address in it. */
const maxUploads = 100
const maxUploadsPerCaller = 20

const callers = new Quota(maxUploadsPerCaller, 'uploads')
let total = 0

/** Runs `work`, which receives files. Rejects with UNAVAILABLE or RATE_LIMITED if too many are being received. */
export async function whileReceiving<T>({ budgetKey }: Principal, work: () => Promise<T>): Promise<T> {
  if (total >= maxUploads)
    throw temporaryRefusal('Too many files are being received.', { 'Retry-After': '5' })
  callers.take(budgetKey)
  total++
  try {
    return await work()
  } finally {
    callers.release(budgetKey)
    total--
  }
}

/** The body of a call. Throws UNSUPPORTED_MEDIA_TYPE if it is encoded: its bytes would not be those of the file. */
export function bytesOf(call: Call): AsyncIterable<Buffer> {
  const encoding = call.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
  return call.stream?.() ?? once(call.body)
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  if (body.length > 0) yield body
}

/** A call in place of one whose body was streamed. `identity`: what tells its body from others. */
export function receivedCall(call: Call, body: unknown, identity: unknown, type: string): Call {
  const { method, url, path, query, address, requestId } = call
  return {
    ...{ method, url, path, query, address, requestId },
    headers: { ...call.headers, 'content-type': type },
    body: Buffer.from(JSON.stringify(identity)),
    parsed: { body },
  }
}

/** What tells the file of an upload from others. */
export function identityOf({ name, type, sha256 }: Upload): readonly string[] {
  return [name, type, sha256]
}

/** Carries out a write with uploads, and removes them if it does not use them. */
export async function withUploads<T extends { readonly headers: readonly string[] }>(
  files: Files,
  uploads: readonly Upload[],
  write: () => Promise<T> | T,
): Promise<T> {
  let isUsed = false
  try {
    const reply = await write()
    isUsed = !reply.headers.includes('Idempotent-Replayed')
    return reply
  } finally {
    // What was used after all, because the commit is uncertain, stays: see `expireUpload`.
    if (!isUsed) for (const upload of uploads) await files.drop(upload)
  }
}
