/**
 * `npm run bench [-- names] [--rounds n] [--seconds n] [--rows n] [--cold] [--limit] [--write-docs]`,
 * `--postgres`: on a PostgreSQL server that it starts; `--workers n`: with n threads
 * `npm run bench -- profile W1 [--hot]`
 * `npm run bench -- overload`
 * `npm run bench -- reactions [events]`: the events per second that one node passes to a reaction
 * `npm run bench -- actions [--rounds n] [--seconds n]`: an action of five reads and five writes, compared with a create
 * `npm run bench -- webhooks [events] [--rows n]`: the deliveries that one node sends per second
 * `npm run bench -- postgres [--rounds n] [--seconds n] [--write-docs]`: what row security and a read replica cost
 * `npm run bench -- varied [--rounds n] [--seconds n] [--write-docs]`: W10 to W19 on every database
 * `npm run bench -- growth [--write-docs]`: how long the largest inputs block the event loop
 * `npm run bench -- slow-reads [rows] [--rounds n] [--seconds n] [--write-docs]`: the latency of reads during scans
 * `npm run bench -- log-cost [--rounds n] [--seconds n]`: creates and updates with the event log and without it
 * `npm run bench -- exports [--rows 1000000]`: rows per second and memory of exports
 * `npm run bench -- aggregates [--rows 1000000] [--rounds n]`: aggregates of groups, with an index and without one
 * `npm run bench -- computed [--rounds n]`: a list of 20 with a computed count and without it
 * `npm run bench -- logic-cost [--rounds n] [--seconds n]`: the same with `prepare`, `check` and a limit, and without them
 * `npm run bench -- import [--rows 1000000] [--write-docs]`: rows per second and memory of imports and exports
 * `npm run bench -- ledger [sqlite|postgres] [--events 200000] [--listeners 200] [--cuts 1000] [--kills 50] [--write-docs]`
 * `npm run bench -- fan-out [--listeners 1000,10000] [--write-docs]`: one event to many listeners
 * `npm run bench -- first-steps [--rounds n] [--write-docs]`: from a clone, from `create`, and from an edit to an answer
 * `npm run bench -- soak [lanes] [--minutes 30]`: bench/soak/soak-load.ts names the lanes
 *
 * Names are W1 to W19, `start` and `walk`, separated by spaces or commas. Without names, it measures all workloads but W10 to
 * W19: on SQLite and PostgreSQL, and some with two workers or a million posts. Only then `--write-docs` is allowed.
 */
import { parseArgs } from 'node:util'
import { actionsTable, measureActions } from './costs/actions.ts'
import { aggregatesTable, measureAggregates } from './costs/aggregates.ts'
import { computedTable, measureComputed } from './costs/computed.ts'
import { exportsTable, measureExports } from './costs/exports.ts'
import { firstStepsTable, measureFirstSteps } from './costs/first-steps.ts'
import { growthTable, measureGrowth, slowRows } from './costs/growth.ts'
import { measureOauth, oauthTable } from './costs/oauth.ts'
import { measureSlowReads, slowReadsTable } from './costs/slow-reads.ts'
import { measureWriteCosts, writeCostTable } from './costs/write-cost.ts'
import { type DataSet, dataSet } from './data-set/data.ts'
import { eventRuns } from './events/event-runs.ts'
import { measureReactions, reactionsTable } from './events/reactions.ts'
import { type Delivery, deliver, deliveryTable } from './events/subscribers.ts'
import { measureSending, sendingTable } from './events/webhooks.ts'
import { measureOverload, overloadTable } from './load/overload.ts'
import {
  comparisonTable,
  footprintLines,
  machine,
  measurementsTable,
  type Part,
  variedTable,
  walkLine,
  writeDocs,
} from './report.ts'
import { postgres, postgresSetups, type Setup, sqlite, withWorkers } from './servers/setup.ts'
import { soak } from './soak/soak.ts'
import {
  cursorsOver,
  footprint,
  type Measurement,
  measure,
  measureAlternately,
  type Sampling,
  walk,
} from './workloads/measure.ts'
import { cursorsOf, measureVaried, type VariedMeasurement } from './workloads/measure-varied.ts'
import { type ProfiledWorkload, profile } from './workloads/profile.ts'
import { type VariedWorkload, variedWorkloads } from './workloads/varied-requests.ts'
import { type Workload, workloads } from './workloads/workloads.ts'

const { values, positionals: rawPositionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string' },
    events: { type: 'string' },
    listeners: { type: 'string' },
    cuts: { type: 'string' },
    kills: { type: 'string' },
    minutes: { type: 'string', default: '30' },
    cold: { type: 'boolean', default: false },
    hot: { type: 'boolean', default: false },
    limit: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    workers: { type: 'string' },
    'write-docs': { type: 'boolean', default: false },
  },
})

const standardRows = 100_000

const positionals = rawPositionals.flatMap(names => names.split(','))

type Count = 'rounds' | 'seconds' | 'rows' | 'minutes' | 'events' | 'listeners' | 'cuts' | 'kills'

function positive(name: Count, defaultValue?: number): number {
  const value = Number(values[name] ?? defaultValue)
  if (value > 0) return value
  throw new RangeError(`--${name} ${values[name]}: write a number above 0.`)
}

const samplingOr = (rounds: number, seconds: number): Sampling => ({
  rounds: positive('rounds', rounds),
  seconds: positive('seconds', seconds),
})
const sampling = samplingOr(3, 4)

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** `W5` selects `W5@32` and `W5@256` as well. */
function selects(positional: string, name: string): boolean {
  return name === positional || name.startsWith(`${positional}@`)
}

function isSelected(name: string): boolean {
  return positionals.length === 0 || positionals.some(positional => selects(positional, name))
}

async function measureWorkload(
  workload: Workload,
  data: DataSet,
  setup = sqlite,
): Promise<readonly Measurement[]> {
  const servers: Measurement['server'][] = ['cold']
  if (workload.reads && !values.cold) servers.push('hot')
  if (values.limit && !workload.name.match(/^W[67]$/)) servers.push('limit')
  const measurements: Measurement[] = []
  for (const server of servers) {
    const measurement = await measure(workload, server, data, sampling, setup)
    measurements.push(measurement)
    print(measurementsTable([measurement]).split('\n').at(-1) ?? '')
  }
  return measurements
}

async function measureOnSetup(
  setup: Setup,
  data: DataSet,
  selected = workloads,
): Promise<readonly Measurement[]> {
  try {
    const measurements: Measurement[] = []
    for (const workload of selected) measurements.push(...(await measureWorkload(workload, data, setup)))
    return measurements
  } finally {
    await setup.close()
  }
}

/** Workloads that leave the second worker a core of its own, because they need little of the load generator. */
const heavy = workloads.filter(({ name }) => name === 'W2' || name === 'W7')

async function measureAll(data: DataSet): Promise<readonly Measurement[]> {
  const big = workloads.filter(({ floor }) => floor.big !== undefined)
  return [
    ...(await measureOnSetup(sqlite, data)),
    ...(await measureOnSetup(sqlite, await dataSet(1_000_000), big)),
    ...(await measureOnSetup(withWorkers(2), data, heavy)),
    ...(await measureOnSetup(await postgres(data), data)),
  ]
}

async function setupOf(data: DataSet): Promise<Setup> {
  if (values.postgres) return postgres(data)
  return values.workers === undefined ? sqlite : withWorkers(Number(values.workers))
}

/** An unknown name is an error: it would measure nothing, and look like success. */
function requireKnownNames(): void {
  const names = [...workloads, ...variedWorkloads].map(({ name }) => name)
  names.push('W8', 'W9', 'start', 'walk')
  const unknown = positionals.filter(positional => !names.some(name => selects(positional, name)))
  if (unknown.length === 0) return
  throw new RangeError(`There is no ${unknown.join(', ')}. The names are ${names.join(', ')}.`)
}

/** W10 to W19 on one kind of setup, in the order of their names. */
async function measureVariedOn(
  open: (data: DataSet) => Promise<Setup>,
  rows: number,
  selected: readonly VariedWorkload[],
): Promise<readonly VariedMeasurement[]> {
  const measurements = new Map<VariedWorkload, VariedMeasurement>()
  for (const model of ['blog', 'editorial'] as const) {
    const ofModel = selected.filter(workload => workload.model === model)
    if (ofModel.length === 0) continue
    const data = await dataSet(rows, model)
    const setup = await open(data)
    try {
      for (const workload of ofModel)
        measurements.set(workload, await measureVariedWorkload(workload, data, setup))
    } finally {
      await setup.close()
    }
  }
  return selected.flatMap(workload => measurements.get(workload) ?? [])
}

async function measureVariedWorkload(
  workload: VariedWorkload,
  data: DataSet,
  setup: Setup,
): Promise<VariedMeasurement> {
  const isEnough = workload.once === undefined || workload.once.posts <= data.rows
  // PostgreSQL deletes fewer posts in that time than the data set has.
  const used = isEnough || setup.floor === 'postgres' ? data : await dataSet(workload.once.posts)
  const measurement = await measureVaried(workload, used, samplingOr(3, 3), setup)
  print(variedTable([measurement]).split('\n').at(-1) ?? '')
  return measurement
}

async function measureVariedEverywhere(rows: number): Promise<readonly VariedMeasurement[]> {
  const openSqlite = async () => sqlite
  return [
    ...(await measureVariedOn(openSqlite, rows, variedWorkloads)),
    ...(await measureVariedOn(
      openSqlite,
      1_000_000,
      variedWorkloads.filter(({ big }) => big),
    )),
    ...(await measureVariedOn(postgres, rows, variedWorkloads)),
  ]
}

/** The tables of the workloads, which exist for every setup. */
async function workloadLines(data: DataSet, all: boolean): Promise<readonly string[]> {
  const selected = workloads.filter(({ name }) => isSelected(name))
  const varied = variedWorkloads.filter(({ name }) => isSelected(name))
  const lines: string[] = []
  if (all) lines.push(measurementsTable(await measureAll(data)))
  else {
    if (selected.length > 0)
      lines.push(measurementsTable(await measureOnSetup(await setupOf(data), data, selected)))
    if (varied.length > 0) lines.push(variedTable(await measureVariedOn(setupOf, data.rows, varied)))
  }
  return lines
}

async function reportWorkloads(): Promise<void> {
  requireKnownNames()
  const hasSetup = values.postgres || values.workers !== undefined
  const all = positionals.length === 0 && !hasSetup
  if (values['write-docs'] && !all) {
    throw new RangeError('`--write-docs` replaces the whole table: omit names, `--postgres` and `--workers`.')
  }
  const data = await dataSet(positive('rows', standardRows))
  const lines = [machine(), ...(await workloadLines(data, all))]
  if (!hasSetup) lines.push(...(await otherLines(data, all)))
  const text = lines.join('\n\n')
  print(`\n${text}`)
  if (values['write-docs']) writeDocs('bench', text)
}

async function otherLines(data: DataSet, all: boolean): Promise<readonly string[]> {
  const lines: string[] = []
  if (isSelected('W8')) lines.push(deliveryTable(await deliveries(data)))
  if (isSelected('W9')) lines.push(oauthTable(await measureOauth(data, sampling)))
  if (isSelected('start')) lines.push(footprintLines(await footprint(data, sampling.rounds)))
  if (isSelected('walk')) lines.push(walkLine(await walk(await dataSet(all ? 1_000_000 : data.rows))))
  return lines
}

/** Measures the servers one after the other. */
async function deliveries(data: DataSet): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  for (const server of ['ws', 'graphql-ws', 'Portico'] as const)
    deliveries.push(await deliver(server, data, 30))
  return deliveries
}

async function runProfile(): Promise<void> {
  const name = positionals[1] ?? 'W1'
  const varied = variedWorkloads.find(workload => workload.name === name)
  if (varied !== undefined) {
    const requests: ProfiledWorkload['requests'] = async (origin, data) =>
      varied.requests(data, await cursorsOf(origin, data.key))
    const rows = Math.max(positive('rows', standardRows), varied.once?.posts ?? 0)
    const data = await dataSet(rows, varied.model)
    return print(await profile({ clients: varied.clients, requests }, data, varied.cacheContent))
  }
  const workload = workloads.find(workload => workload.name === name)
  if (workload === undefined) {
    const names = [...workloads, ...variedWorkloads].map(workload => workload.name)
    throw new Error(`Profile one of ${names.join(', ')}.`)
  }
  const requests: ProfiledWorkload['requests'] = async (origin, data) =>
    workload.requests(data.rows, await cursorsOver({ origin }, data))
  print(
    await profile(
      { clients: workload.clients, requests },
      await dataSet(positive('rows', standardRows)),
      values.hot ? 'answers' : 'nothing',
    ),
  )
}

async function runSoak(): Promise<void> {
  const options = { minutes: positive('minutes'), lanes: positionals.slice(1), print }
  if (!(await soak(await dataSet(positive('rows', standardRows)), options))) process.exitCode = 1
}

const comparedWorkloads = ['W1', 'W2', 'W4', 'W5@32', 'W6']

/** Prints the results, and with `--write-docs` writes them into their section of the page. */
function report(part: Part, table: string): void {
  const text = [machine(), table].join('\n\n')
  print(`\n${text}`)
  if (values['write-docs']) writeDocs(part, text)
}

async function comparePostgres(): Promise<void> {
  const data = await dataSet(positive('rows', standardRows))
  const setups = await postgresSetups(data)
  const measurements: Measurement[] = []
  try {
    for (const workload of workloads.filter(({ name }) => comparedWorkloads.includes(name)))
      measurements.push(...(await measureAlternately(workload, 'cold', data, samplingOr(5, 2), setups)))
  } finally {
    for (const setup of setups) await setup.close()
  }
  report('postgres', comparisonTable(measurements))
}

async function reportVaried(): Promise<void> {
  report('varied', variedTable(await measureVariedEverywhere(positive('rows', standardRows))))
}

async function reportGrowth(): Promise<void> {
  const rows = await measureGrowth()
  report('growth', growthTable(rows))
  if (slowRows(rows) > 0) process.exitCode = 1
}

async function reportSlowReads(): Promise<void> {
  const rows = positionals.length > 1 ? Number(positionals[1]) : 1_000_000
  const measurements = await measureSlowReads(await dataSet(rows), samplingOr(3, 5))
  report('slow-reads', slowReadsTable(measurements))
}

async function reportFirstSteps(): Promise<void> {
  const text = firstStepsTable(await measureFirstSteps(positive('rounds', 3)))
  print(`\n${text}`)
  if (values['write-docs']) writeDocs('first-steps', text)
}

async function reportSending(): Promise<void> {
  const events = positionals.length > 1 ? Number(positionals[1]) : 1000
  const measurements = await measureSending(await dataSet(positive('rows', standardRows)), events)
  print([machine(), sendingTable(measurements)].join('\n\n'))
}

async function reportReactions(): Promise<void> {
  const events = positionals.length > 1 ? Number(positionals[1]) : 20_000
  print([machine(), reactionsTable(await measureReactions(events))].join('\n\n'))
}

const commands: Readonly<Record<string, () => Promise<void>>> = {
  profile: runProfile,
  soak: runSoak,
  postgres: comparePostgres,
  varied: reportVaried,
  growth: reportGrowth,
  'slow-reads': reportSlowReads,
  exports: async () => {
    const rows = positive('rows', 1_000_000)
    print(`\n${exportsTable(rows, await measureExports(rows))}`)
  },
  aggregates: async () => {
    const rows = positive('rows', 1_000_000)
    print(`\n${aggregatesTable(rows, await measureAggregates(rows, positive('rounds', 5)))}`)
  },
  computed: async () => print(`\n${computedTable(await measureComputed(positive('rounds', 5)))}`),
  'log-cost': async () => print(`\n${writeCostTable(await measureWriteCosts('log', samplingOr(5, 3)))}`),
  'logic-cost': async () => print(`\n${writeCostTable(await measureWriteCosts('logic', samplingOr(5, 3)))}`),
  ...eventRuns({ positive, listeners: values.listeners, databases: positionals.slice(1), print, report }),
  'first-steps': reportFirstSteps,
  webhooks: reportSending,
  reactions: reportReactions,
  actions: async () => print(`\n${actionsTable(await measureActions(samplingOr(3, 5)))}`),
  overload: async () =>
    print(overloadTable(await measureOverload(await dataSet(positive('rows', standardRows))))),
}
await (commands[positionals[0] ?? ''] ?? reportWorkloads)()
