import { randomBytes } from 'node:crypto'

const wellFormed = /^[A-Za-z0-9._-]{1,128}$/
const prefix = randomBytes(9).toString('base64url')
let count = 0

/** The client's own id if it is well-formed and not a credential, otherwise a new one, which is unique and cheap to make. */
export function requestId(clientId: string | string[] | undefined): string {
  if (typeof clientId === 'string' && wellFormed.test(clientId) && !clientId.includes('pk_')) return clientId
  count++
  return `${prefix}.${count.toString(36)}`
}
