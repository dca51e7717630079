/** The limits of a model's own logic. */
import { integer } from './kinds.ts'
import { setting } from './setting.ts'

export const logicSettings = {
  'logic.actionTimeout': setting({
    variable: 'PORTICO_ACTION_TIMEOUT',
    kind: integer(10, 60_000),
    default: 1000,
    description:
      'How long an action or a query of the model may take, in milliseconds. After that it is rolled back and answered with 503. On SQLite, all requests of the thread wait meanwhile.',
  }),
  'logic.actionOperations': setting({
    variable: 'PORTICO_ACTION_OPERATIONS',
    kind: integer(1, 100_000),
    default: 1000,
    description: 'The maximum number of reads and writes of an action or a query of the model.',
  }),
  'logic.actionTries': setting({
    variable: 'PORTICO_ACTION_TRIES',
    kind: integer(1, 100),
    default: 3,
    description:
      'How often an action is attempted on PostgreSQL if it conflicts with concurrent changes. After that it is answered with 409.',
  }),
} as const
