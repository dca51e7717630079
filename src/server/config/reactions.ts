/** The settings of reactions and jobs: `reactions.timeout` can also be `timeout` in an object `reactions`. */
import { flag } from './kinds.ts'
import { setting } from './setting.ts'
import { duration } from './units.ts'

export const reactionSettings = {
  'reactions.timeout': setting({
    variable: 'PORTICO_REACTIONS_TIMEOUT',
    kind: duration({ from: '1 s', to: '1 h', example: '60 s' }),
    default: '60 s',
    description:
      'How long one run of a reaction or a job may take. After that its `signal` is aborted, the run has failed, and it is retried later.',
  }),
  'reactions.allowPrivate': setting({
    variable: 'PORTICO_REACTIONS_PRIVATE',
    kind: flag,
    default: false,
    description:
      'Whether `fetch` in reactions and jobs may reach private, loopback and link-local addresses. If so, never pass it URLs from users.',
  }),
} as const
