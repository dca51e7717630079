/** How many rows a second an export has, and how much memory, without HTTP. */

import { user } from '../../src/base/principal.ts'
import { anyone, collection, integer, model, text } from '../../src/index.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { openHarness } from '../../test/api/contract/rest/harness.ts'
import { onBothDatabases } from '../data-set/filled-databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const declared = checkModel(
  model({ tasks: collection({ fields: { title: text(), points: integer() }, access }) }),
)

export interface ExportMeasurement {
  readonly database: string
  readonly format: string
  readonly rowsPerSecond: number
  /** By which the memory of the process grew at most. */
  readonly megabytes: number
}

export function measureExports(rows: number): Promise<readonly ExportMeasurement[]> {
  return onBothDatabases(async database => {
    const harness = await openHarness(declared, async checked => {
      const store = await database.open(checked)
      return { store, close: () => store.close() }
    })
    try {
      await database.fill(
        `INSERT INTO "tasks" ("title", "points", "created_at") SELECT 'task ' || n, n % 100, '2026-01-01T00:00:00.000Z' FROM ${database.numbers(rows)}`,
      )
      const measurements: ExportMeasurement[] = []
      for (const format of ['text/csv', 'application/x-ndjson']) {
        const before = process.memoryUsage.rss()
        const start = performance.now()
        let peak = before
        const request = { url: '/api/v1/tasks', headers: { accept: format } }
        const { body } = await harness.send(request, user(1, 'user', 'all'))
        if (body === null || typeof body !== 'object' || Buffer.isBuffer(body))
          throw new Error('not a stream')
        for await (const _ of body) peak = Math.max(peak, process.memoryUsage.rss())
        const seconds = (performance.now() - start) / 1000
        const measured = { rowsPerSecond: rows / seconds, megabytes: (peak - before) / 1e6 }
        measurements.push({ database: database.name, format, ...measured })
      }
      return measurements
    } finally {
      await harness.close()
    }
  })
}

export function exportsTable(rows: number, measurements: readonly ExportMeasurement[]): string {
  return [
    `| an export of ${rows.toLocaleString('en')} items | database | items per second | memory |`,
    '|---|---|---|---|',
    ...measurements.map(({ database, format, rowsPerSecond, megabytes }) => {
      const perSecond = Math.round(rowsPerSecond).toLocaleString('en')
      return `| \`${format}\` | ${database} | ${perSecond} | ${Math.round(megabytes)} MB |`
    }),
  ].join('\n')
}
