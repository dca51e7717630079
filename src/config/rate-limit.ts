/** The setting `rateLimit`: one number for users and addresses, or members. */
import { integer, isOff, type Kind } from './kinds.ts'
import { member, membersKind } from './members.ts'
import type { Setting } from './setting.ts'

/** `off`, or a number of requests. */
export type RateLimit = number | 'off'

export interface RateLimitValues {
  readonly user: RateLimit
  readonly address: RateLimit
  readonly token: RateLimit
}

type GivenRateLimit = RateLimit | Partial<RateLimitValues>

const requests = integer(1, 1_000_000_000)

const oneLimit: Kind<RateLimit> = {
  expected: '`off`, or the requests per minute: a whole number from 1 to 1000000000',
  fromText: value => (isOff(value) ? 'off' : requests.fromText(value)),
  fromValue: value => (value === 'off' || value === false ? 'off' : requests.fromValue(value)),
}

const defaults: RateLimitValues = { user: 1000, address: 120, token: 60 }

const members = membersKind({
  user: member({ kind: oneLimit, default: defaults.user, description: '' }),
  address: member({ kind: oneLimit, default: defaults.address, description: '' }),
  token: member({ kind: oneLimit, default: defaults.token, description: '' }),
})

function ofBoth(limit: RateLimit): RateLimitValues {
  return { user: limit, address: limit, token: limit === 'off' ? 'off' : defaults.token }
}

const kind: Kind<RateLimitValues, GivenRateLimit> = {
  expected: `${oneLimit.expected}; or ${members.expected}`,
  fromText: text => {
    if (text.includes('=')) return members.fromText(text)
    const limit = oneLimit.fromText(text)
    return limit === undefined ? undefined : ofBoth(limit)
  },
  fromValue: value => {
    if (typeof value === 'object') return members.fromValue(value)
    const limit = oneLimit.fromValue(value)
    return limit === undefined ? undefined : ofBoth(limit)
  },
}

export const rateLimitSetting: Setting<RateLimitValues, GivenRateLimit> = {
  variable: 'PORTICO_RATE_LIMIT',
  kind,
  default: {},
  defaultText: '`user=1000, address=120, token=60`',
  description: [
    'Requests per minute; `off`: no limit. One number sets `user` and `address`, and `off` alone turns all limits off.',
    '',
    '- `user`: of each user, and of each app for each user.',
    '- `address`: of each client address without a credential, failed credentials included. IPv6 addresses count by their /64 network.',
    '- `token`: refused requests of each client address to the token, device, revocation, introspection, registration and pushed-request endpoints. Other requests count against the ordinary limit: the app’s if it sends its secret, else the address’s.',
  ].join('\n'),
}
