/** The limits of a model's own logic. */
import { member, membersSetting } from './members.ts'
import { duration } from './units.ts'

export const logicSettings = {
  'logic.limits': membersSetting({
    variable: 'PORTICO_LOGIC_LIMITS',
    description: 'How long the model’s own code may take, and how long the keys of `once` are kept.',
    members: {
      action: member({
        kind: duration({ from: '10 ms', to: '1 min', example: '1 s' }),
        default: '1 s',
        description:
          'An action or a query, which is then rolled back at its next read or write, and answered with 503. On SQLite, all requests of the thread wait meanwhile.',
      }),
      code: member({
        kind: duration({ from: '1 s', to: '1 h', example: '10 s' }),
        default: '10 s',
        description:
          'The processor time of any code that waits for nothing. It then counts as endless, and the process ends with code 70, unless Node can be debugged (`--inspect`). It must be longer than `action`: on SQLite, an action with all its reads and writes waits for nothing.',
      }),
      route: member({
        kind: duration({ from: '1 s', to: '1 h', example: '60 s' }),
        default: '60 s',
        description:
          'A request to a route, to the end of its response. After that its `signal` is aborted, and it is answered with 500, or the connection ends.',
      }),
      once: member({
        kind: duration({ from: '1 h', to: '3650 d', example: '90 d' }),
        default: '90 d',
        description:
          'The keys of `once` in routes, jobs and reactions. After that, a call with the same key takes effect again.',
      }),
    },
    faultOf: ({ action, code }) =>
      action < code
        ? undefined
        : '`action` must be shorter than `code`: an action on SQLite that lasts as long as `code` would end the process instead of being rolled back',
  }),
} as const
