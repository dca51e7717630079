/** API keys as text: `pk_`, 32 random characters, and a checksum of 6 that tells a typing error from a wrong key. */
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'pk_'
const RANDOM = 32
const CHECKSUM = 6
/** How much of a key is kept readable, to recognise it by. */
const SHOWN = 10

const wellFormed = /^pk_[0-9A-Za-z]{32,200}$/

function base62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) {
    text = (alphabet[rest % 62] ?? '') + text
  }
  return text
}

function checksum(text: string): string {
  return base62(crc32(text), CHECKSUM)
}

/** A new key, of 190 random bits. */
export function generateKey(): string {
  let text = PREFIX
  for (let at = 0; at < RANDOM; at++) text += alphabet[randomInt(62)] ?? ''
  return text + checksum(text)
}

/** Whether `text` has a key's form and a right checksum. Says nothing about whether the key exists. */
export function isKey(text: string): boolean {
  return wellFormed.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM)))
}

/** What is stored of a key. A plain hash is enough: nobody can guess 190 bits. */
export function keyHash(key: string): string {
  return hash('sha256', key, 'base64url')
}

/** What may be shown of a key. */
export function keyPrefix(key: string): string {
  return key.slice(0, SHOWN)
}
