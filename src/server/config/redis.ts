/** The settings of Redis, through which several nodes communicate. */
import { isHost, refuseCopyingMistakes } from './copying-mistakes.ts'
import type { Kind } from './kinds.ts'
import { optional, setting } from './setting.ts'
import { duration } from './units.ts'

const databaseNumber = /^\d{1,5}$/

function isNetwork({ protocol, hostname, pathname, search, hash }: URL): boolean {
  if (protocol !== 'redis:' && protocol !== 'rediss:') return false
  const database = pathname.slice(1)
  return (
    isHost(hostname) && search === '' && hash === '' && (database === '' || databaseNumber.test(database))
  )
}

function isSocket({ protocol, pathname, searchParams, hash }: URL): boolean {
  if (protocol !== 'unix:' || pathname.length < 2 || hash !== '') return false
  return [...searchParams].every(([name, value]) => name === 'db' && databaseNumber.test(value))
}

function requireDecodable({ protocol, username, password, pathname }: URL): void {
  try {
    for (const part of [username, password, protocol === 'unix:' ? pathname : '']) decodeURIComponent(part)
  } catch {
    throw new RangeError('has a `%` without the code of a character: write `%25` for the character `%`')
  }
}

function redisAddress(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  refuseCopyingMistakes(value)
  if (!/^\w+:\/\//.test(value) || !URL.canParse(value)) return undefined
  const url = new URL(value)
  if (!isNetwork(url) && !isSocket(url)) return undefined
  requireDecodable(url)
  return value
}

const address: Kind<string> = {
  expected:
    'the address of a Redis or Valkey server: `redis://user:password@host:6379/0`, the same with `rediss://` for TLS, or `unix:///run/redis.sock?db=0`',
  fromText: redisAddress,
  fromValue: redisAddress,
}

function keyPrefix(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z0-9:._{}-]{1,60}$/.test(value) ? value : undefined
}

const prefix: Kind<string> = {
  expected: '1 to 60 letters, digits or characters of `:._{}-`',
  fromText: keyPrefix,
  fromValue: keyPrefix,
}

export const redisSettings = {
  'redis.url': optional({
    variable: 'REDIS_URL',
    kind: address,
    secret: true,
    defaultText: 'none: a single node',
    description:
      'The Redis or Valkey server through which several nodes share rate limits and notify each other of commits. Its contents may be lost without harm.',
  }),
  'redis.prefix': setting({
    variable: 'PORTICO_REDIS_PREFIX',
    kind: prefix,
    default: 'portico:',
    description:
      'The prefix of every key and channel in Redis: the same for all nodes of a service, and different for every other service on that server.',
  }),
  'redis.timeout': setting({
    variable: 'PORTICO_REDIS_TIMEOUT',
    kind: duration({ from: '5 ms', to: '5 s', example: '100 ms' }),
    default: '100 ms',
    description:
      'How long a request waits for Redis. After that, this node counts alone until Redis responds in time again.',
  }),
} as const
