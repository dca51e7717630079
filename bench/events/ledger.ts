/** The ledger test of `test/system/ledger/`, with more events and for longer. */
import {
  type LedgerOptions,
  type LedgerReport,
  runLedger,
  type Transport,
} from '../../test/system/ledger/ledger.ts'

type LedgerSize = Pick<LedgerOptions, 'events' | 'listeners' | 'cuts' | 'kills'>

interface Ledger extends LedgerReport {
  readonly database: LedgerOptions['database']
}

/** Listeners are assigned in turn. One of sixteen is a webhook: each of its events is a row, a request and a result. */
const connected: readonly Transport[] = ['event stream', 'long poll', 'WebSocket']
const transports: readonly Transport[] = [...Array.from({ length: 5 }, () => connected).flat(), 'webhook']

const writers = 16
const idleTimeoutMs = 120_000

const databases = ['SQLite', 'PostgreSQL'] as const

/** `chosen`: the beginnings of the names of databases, in lower case; empty: all databases. */
export async function measureLedger(
  size: LedgerSize,
  chosen: readonly string[],
  print: (text: string) => void,
): Promise<readonly Ledger[]> {
  const ledgers: Ledger[] = []
  for (const database of databases) {
    if (chosen.length > 0 && !chosen.some(name => database.toLowerCase().startsWith(name))) continue
    const onProgress = (text: string) => print(`${database}: ${text}`)
    const report = await runLedger({
      ...size,
      database,
      transports,
      writers,
      idleTimeoutMs,
      onProgress,
    })
    ledgers.push({ database, ...report })
  }
  return ledgers
}

const format = (value: number) => Math.round(value).toLocaleString('en')

function rowOf({
  database,
  written,
  repeatedWrites,
  cuts,
  kills,
  seconds,
  transports,
  faultCount,
}: Ledger): string {
  const all = Object.values(transports)
  const sum = (value: (transport: (typeof all)[number]) => number) =>
    all.reduce((total, transport) => total + value(transport), 0)
  const cells = [
    written,
    repeatedWrites,
    cuts,
    kills,
    sum(({ received }) => received),
    sum(({ repeated }) => repeated),
    faultCount,
    seconds,
  ]
  return `| ${[database === 'SQLite' ? 'SQLite, one node' : 'PostgreSQL, three nodes', ...cells.map(format)].join(' | ')} |`
}

function transportRows({ database, transports }: Ledger): readonly string[] {
  return Object.entries(transports).map(
    ([name, { listeners, received, repeated }]) =>
      `| ${[database, name, ...[listeners, received, repeated].map(format)].join(' | ')} |`,
  )
}

export function ledgerTable(ledgers: readonly Ledger[]): string {
  return [
    '| database | writes | retried | cuts | kills | events received | received again | lost, out of order or wrong | seconds |',
    '|---|---|---|---|---|---|---|---|---|',
    ...ledgers.map(rowOf),
    '',
    '| database | transport | listeners | events received | received again |',
    '|---|---|---|---|---|',
    ...ledgers.flatMap(transportRows),
    ...ledgers.flatMap(({ faults }) => faults.map(fault => `\n- ${fault}`)),
  ].join('\n')
}
