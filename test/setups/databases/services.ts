/** Services in memory on every database. */

import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declared-model.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import { inWhole } from '../../chosen.ts'
import { plannedDatabase, plannedOrdinaryDatabase } from './copied.ts'

interface ServiceSetup {
  readonly name: string
  readonly within: <M extends Declaration>(
    declared: M,
    use: (service: TestService<M>) => Promise<void>,
  ) => Promise<void>
}

/** No request is refused because other tests use the processor. */
const maxDelay = '60 s' as const

export const serviceSetups: readonly ServiceSetup[] = [
  {
    name: 'SQLite',
    async within(declared, use) {
      const service = await testService(declared, { settings: { maxDelay } })
      await use(service).finally(() => service.close())
    },
  },
  ...inWhole(onPostgres('PostgreSQL', plannedDatabase, false)),
  onPostgres('PostgreSQL with row security', plannedOrdinaryDatabase, true),
]

function onPostgres(name: string, plan: typeof plannedDatabase, rowSecurity: boolean): ServiceSetup {
  return {
    name,
    async within(declared, use) {
      const { url, create, drop } = await plan()
      try {
        await create(checkModel(declared))
        const settings = { database: url, databaseConnections: 4, rowSecurity, maxDelay }
        const service = await testService(declared, { settings })
        await use(service).finally(() => service.close())
      } finally {
        await drop()
      }
    },
  }
}
