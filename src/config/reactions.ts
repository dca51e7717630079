/** The settings of reactions and jobs: `reactions.timeout` can also be `timeout` in an object `reactions`. */
import { flag, integer } from './kinds.ts'
import { setting } from './setting.ts'

export const reactionSettings = {
  'reactions.concurrency': setting({
    variable: 'PORTICO_REACTIONS_CONCURRENCY',
    kind: integer(1, 1000),
    default: 16,
    description:
      'The maximum number of concurrent runs of reactions and jobs, separately for quick and for slow ones. One reaction or job can have at most half of them.',
  }),
  'reactions.timeout': setting({
    variable: 'PORTICO_REACTIONS_TIMEOUT',
    kind: integer(1, 3600),
    default: 60,
    description:
      'How long one run of a reaction or a job may take, in seconds. After that its `signal` is aborted, the run has failed, and it is retried later.',
  }),
  'reactions.allowPrivate': setting({
    variable: 'PORTICO_REACTIONS_PRIVATE',
    kind: flag,
    default: false,
    description:
      'Whether `fetch` in reactions and jobs may reach private, loopback and link-local addresses. If so, never pass it URLs from users.',
  }),
} as const
