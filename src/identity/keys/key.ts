/** The text of API keys: `pk_`, 32 random characters, and a checksum of 6, which detects typing errors. */
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const keyMark = 'pk_'
const randomCharacters = 32
const checksumCharacters = 6
/** The length of the prefix that is stored as plain text, by which users recognise a key. */
const prefixCharacters = 10

const wellFormed = /^pk_[0-9A-Za-z]{32,200}$/

function base62(value: number, length: number): string {
  let text = ''
  for (let remaining = value; text.length < length; remaining = Math.floor(remaining / 62)) {
    text = (alphabet[remaining % 62] ?? '') + text
  }
  return text
}

function checksum(text: string): string {
  return base62(crc32(text), checksumCharacters)
}

/** Generates a key with 190 random bits. */
export function generateKey(): string {
  let text = keyMark
  for (let i = 0; i < randomCharacters; i++) text += alphabet[randomInt(62)] ?? ''
  return text + checksum(text)
}

/** Whether `text` has the form of a key and a valid checksum. The key need not exist. */
export function isKey(text: string): boolean {
  return wellFormed.test(text) && text.endsWith(checksum(text.slice(0, -checksumCharacters)))
}

/** The hash of a key as it is stored. It needs no salt: 190 random bits cannot be guessed. */
export function keyHash(key: string): string {
  return hash('sha256', key, 'base64url')
}

/** The part of a key that may be displayed. */
export function keyPrefix(key: string): string {
  return key.slice(0, prefixCharacters)
}
