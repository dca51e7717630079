/** Creating, hashing and comparing secrets. They are random, so the hash needs no salt. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The hash of a secret, which is stored instead of the secret. */
export function secretHash(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** A new client id. */
export function newClientId(): string {
  return `app_${randomBytes(15).toString('base64url')}`
}

/** A new client secret, of 256 random bits. */
export function newClientSecret(): string {
  return `ps_${randomSecret()}`
}

/** The part of a client secret that may be shown. */
export function secretPrefix(secret: string): string {
  return secret.slice(0, 10)
}

const randomForm = /^[A-Za-z0-9_-]{43}$/

/** 256 random bits, encoded as oidc-provider encodes them in its tokens and sessions. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Whether the text has the form of `randomSecret`. */
export function isRandomSecret(text: string): boolean {
  return randomForm.test(text)
}

/** Compares two secrets, or their hashes, in constant time. Either may be any text. */
export function isSame(one: string, other: string): boolean {
  const left = Buffer.from(one)
  const right = Buffer.from(other)
  return left.length === right.length && timingSafeEqual(left, right)
}
