/** The settings of reactions and jobs: `reactions.timeout` is also `timeout` in an object `reactions`. */
import { flag, integer } from './kinds.ts'
import { setting } from './setting.ts'

export const reactionSettings = {
  'reactions.concurrency': setting({
    variable: 'PORTICO_REACTIONS_CONCURRENCY',
    kind: integer(1, 1000),
    default: 16,
    description:
      'How many runs of reactions and jobs there may be at once, quick and slow ones each; no reaction or job has more than half of them.',
  }),
  'reactions.timeout': setting({
    variable: 'PORTICO_REACTIONS_TIMEOUT',
    kind: integer(1, 3600),
    default: 60,
    description:
      'How long one run of a reaction or a job may take, in seconds. Then its `signal` is aborted, it has failed, and it is tried again later.',
  }),
  'reactions.allowPrivate': setting({
    variable: 'PORTICO_REACTIONS_PRIVATE',
    kind: flag,
    default: false,
    description:
      'Whether `fetch` in reactions and jobs may reach private, loopback and link-local addresses. If it may, let no URL that it is given come from users.',
  }),
} as const
