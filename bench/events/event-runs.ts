/** The measurements of imports, and of events and their listeners. */

import { measureTransfers, transfersTable } from '../costs/import.ts'
import type { Part } from '../report.ts'
import { fanOutTable, measureFanOut } from './fan-out.ts'
import { ledgerTable, measureLedger } from './ledger.ts'

interface EventRunOptions {
  /** The value of an option, or the default. */
  readonly positive: (
    name: 'rows' | 'rounds' | 'events' | 'listeners' | 'cuts' | 'kills',
    defaultValue?: number,
  ) => number
  /** The text of `--listeners`: `fan-out` accepts several numbers. */
  readonly listeners: string | undefined
  readonly databases: readonly string[]
  readonly print: (text: string) => void
  /** Prints a table, and writes it to the documentation if requested. */
  readonly report: (part: Part, table: string) => void
}

/** The measurements, by the first argument. */
export function eventRuns({ positive, listeners, databases, print, report }: EventRunOptions) {
  return {
    async import(): Promise<void> {
      report('import', transfersTable(await measureTransfers(positive('rows', 1_000_000))))
    },
    async ledger(): Promise<void> {
      const size = {
        events: positive('events', 200_000),
        listeners: positive('listeners', 200),
        cuts: positive('cuts', 1000),
        kills: positive('kills', 50),
      }
      const ledgers = await measureLedger(size, databases, print)
      report('ledger', ledgerTable(ledgers))
      if (ledgers.some(({ faultCount }) => faultCount > 0)) process.exitCode = 1
    },
    async 'fan-out'(): Promise<void> {
      const sizes = (listeners ?? '1000,10000').split(',').map(Number)
      report('fan-out', fanOutTable(await measureFanOut(sizes, positive('rounds', 30))))
    },
  }
}
