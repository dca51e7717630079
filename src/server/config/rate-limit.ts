/** The setting `rateLimit`: one number for users and addresses, or members. */
import { integer, isOff, type Kind } from './kinds.ts'
import { member, membersSetting } from './members.ts'
import type { Setting } from './setting.ts'

/** `off`, or a number of requests. */
export type RateLimit = number | 'off'

export interface RateLimitValues {
  readonly user: RateLimit
  readonly app: RateLimit
  readonly address: RateLimit
  readonly token: RateLimit
}

type GivenRateLimit = RateLimit | { readonly [Name in keyof RateLimitValues]?: RateLimit | undefined }

const requests = integer(1, 1_000_000_000)

const oneLimit: Kind<RateLimit> = {
  expected: '`off`, or a whole number from 1 to 1000000000',
  fromText: value => (isOff(value) ? 'off' : requests.fromText(value)),
  fromValue: value => (value === 'off' || value === false ? 'off' : requests.fromValue(value)),
}

const tokenLimit = 60
const appLimit = 10_000

const ofEach = membersSetting({
  variable: 'PORTICO_RATE_LIMIT',
  description:
    'Requests per minute; `off`: no limit. One number sets `user` and `address`, and `off` alone turns all limits off.',
  members: {
    user: member({
      kind: oneLimit,
      default: 1000,
      description: 'Of each user, and of each app for each user.',
    }),
    app: member({
      kind: oneLimit,
      default: appLimit,
      description:
        'Of each app for all of its users together. `requests_per_minute` of the app has precedence. Apps of the service itself have no such limit.',
    }),
    address: member({
      kind: oneLimit,
      default: 120,
      description:
        'Of each client address without a credential, failed credentials included. IPv6 addresses count by their /64 network.',
    }),
    token: member({
      kind: oneLimit,
      default: tokenLimit,
      description:
        'Refused requests of each client address to the token, device, revocation, introspection, registration and pushed-request endpoints. Other requests count against the ordinary limit: the app’s if it sends its secret, else the address’s.',
    }),
  },
})

function ofBoth(limit: RateLimit | undefined): RateLimitValues | undefined {
  if (limit === undefined) return undefined
  const isOn = limit !== 'off'
  return { user: limit, app: isOn ? appLimit : 'off', address: limit, token: isOn ? tokenLimit : 'off' }
}

export const rateLimitSetting: Setting<RateLimitValues, GivenRateLimit> = {
  ...ofEach,
  kind: {
    expected: `${oneLimit.expected}; or ${ofEach.kind.expected}`,
    fromText: text => (text.includes('=') ? ofEach.kind.fromText(text) : ofBoth(oneLimit.fromText(text))),
    fromValue: value =>
      typeof value === 'object' ? ofEach.kind.fromValue(value) : ofBoth(oneLimit.fromValue(value)),
  },
}
