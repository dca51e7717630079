/** The settings of the event log: `events.retention` can also be `retention` in an object `events`. */
import { integer } from './kinds.ts'
import { setting } from './setting.ts'

const minute = 60
const day = 24 * 60 * minute

export const eventSettings = {
  'events.retention': setting({
    variable: 'PORTICO_EVENTS_RETENTION',
    kind: integer(minute, 3650 * day),
    default: 30 * day,
    description:
      'How long the event log keeps events, in seconds. A client that resumes from an older event gets RESYNC_REQUIRED. Events that webhooks have not sent yet are kept longer, up to `events.maxBytes`.',
  }),
  'events.maxBytes': setting({
    variable: 'PORTICO_EVENTS_MAX_BYTES',
    kind: integer(1_048_576, 1_099_511_627_776),
    default: 1_073_741_824,
    description:
      'The size of the event log, in bytes, beyond which its oldest events are removed, even if clients or webhooks have not read them. The size is estimated: the number of events times the average size of a sample.',
  }),
}
