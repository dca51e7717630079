/** The limits of a model's own logic. */
import { setting } from './setting.ts'
import { duration } from './units.ts'

export const logicSettings = {
  'logic.actionTimeout': setting({
    variable: 'PORTICO_ACTION_TIMEOUT',
    kind: duration({ from: '10 ms', to: '1 min', example: '1 s' }),
    default: '1 s',
    description:
      'How long an action or a query of the model may take. After that it is rolled back and answered with 503. On SQLite, all requests of the thread wait meanwhile.',
  }),
} as const
