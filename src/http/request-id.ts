import { randomBytes } from 'node:crypto'

const wellFormed = /^[A-Za-z0-9._-]{1,128}$/
const prefix = randomBytes(9).toString('base64url')
let count = 0

/** The client's own id when it is well-formed and no credential, else a new one: unique, and cheap to make. */
export function requestId(sent: string | string[] | undefined): string {
  if (typeof sent === 'string' && wellFormed.test(sent) && !sent.includes('pk_')) return sent
  count++
  return `${prefix}.${count.toString(36)}`
}
