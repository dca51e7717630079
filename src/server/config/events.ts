/** The settings of the event log: `events.retention` can also be `retention` in an object `events`. */
import { member, membersSetting } from './members.ts'
import { duration, size } from './units.ts'

export const eventSettings = {
  'events.retention': membersSetting({
    variable: 'PORTICO_EVENTS_RETENTION',
    description:
      'How much the event log keeps. A client that resumes from an older event gets RESYNC_REQUIRED.',
    members: {
      age: member({
        kind: duration({ from: '60 s', to: '3650 d', example: '30 d' }),
        default: '30 d',
        description: 'Older events are removed, unless webhooks have not sent them yet.',
      }),
      size: member({
        kind: size({ from: '1 MiB', to: '1 TiB', example: '1 GiB' }),
        default: '1 GiB',
        description:
          'Beyond this size, the oldest events are removed, even if clients or webhooks have not read them. The size is estimated: the number of events times the average size of a sample.',
      }),
    },
  }),
}
