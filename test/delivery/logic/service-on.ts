/** A service that all tests of a suite share, on a database of a kind. */
import type { Declaration } from '../../../src/model/declared-model.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import type { DatabaseKind } from '../../engine/store/databases.ts'

export interface SharedService<M extends Declaration> {
  readonly service: TestService<M>
  close(): Promise<void>
}

export async function serviceOn<M extends Declaration>(
  kind: DatabaseKind,
  declared: M,
  settings: GivenSettings = {},
): Promise<SharedService<M>> {
  const opened = Promise.withResolvers<TestService<M>>()
  const ended = Promise.withResolvers<void>()
  const running = kind.within(async database => {
    await database.create()
    const rowSecurity = kind.name.endsWith('row security')
    opened.resolve(
      await testService(declared, { settings: { ...settings, database: database.url, rowSecurity } }),
    )
    await ended.promise
  })
  running.catch(opened.reject)
  const service = await opened.promise
  return {
    service,
    async close() {
      await service.close()
      ended.resolve()
      await running
    },
  }
}
