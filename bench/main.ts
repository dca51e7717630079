/**
 * `npm run bench [-- names] [--rounds n] [--seconds n] [--rows n] [--cold] [--limit] [--write-docs]`,
 * `--postgres` uses a PostgreSQL server of its own, `--workers n` that many threads
 * `npm run bench -- profile W1 [--hot]`
 * `npm run bench -- overload`
 * `npm run bench -- reactions [events]`: how many events per second one node passes through a reaction
 * `npm run bench -- actions [--rounds n] [--seconds n]`: an action of five reads and five writes, compared with a create
 * `npm run bench -- webhooks [events] [--rows n]`: how many deliveries one node sends per second
 * `npm run bench -- postgres [--rounds n] [--seconds n] [--write-docs]`: what row security and a read replica cost
 * `npm run bench -- asked [--rounds n] [--seconds n] [--write-docs]`: W10 to W19 on every database
 * `npm run bench -- growth [--write-docs]`: how long the largest inputs block the event loop
 * `npm run bench -- slow-reads [rows] [--rounds n] [--seconds n] [--write-docs]`: the latency of reads during scans
 * `npm run bench -- log-cost [--rounds n] [--seconds n]`: creates and updates with the event log and without it
 * `npm run bench -- aggregates [--rows 1000000] [--rounds n]`: aggregates of groups, with an index and without one
 * `npm run bench -- computed [--rounds n]`: a list of 20 with a computed count and without it
 * `npm run bench -- logic-cost [--rounds n] [--seconds n]`: the same with `prepare`, `check` and a limit, and without them
 * `npm run bench -- import [--rows 1000000] [--write-docs]`: rows per second and memory of imports and exports
 * `npm run bench -- ledger [sqlite|postgres] [--events 200000] [--listeners 200] [--cuts 1000] [--kills 50] [--write-docs]`
 * `npm run bench -- fan-out [--listeners 1000,10000] [--write-docs]`: one event to many listeners
 * `npm run bench -- first-steps [--rounds n] [--write-docs]`: from a clone, from `create`, and from an edit to an answer
 * `npm run bench -- soak [lanes] [--minutes 30]`: bench/soak-load.ts names the lanes
 *
 * Names are W1 to W19, `start` and `walk`, also as `W10,W11`. Without names, it measures all but W10 to W19, and some with
 * two workers and on PostgreSQL.
 */
import { parseArgs } from 'node:util'
import { actionsTable, measureActions } from './actions.ts'
import { aggregatesTable, measureAggregates } from './aggregates.ts'
import { type AskedWorkload, askedWorkloads } from './asked.ts'
import { type AskedFigure, cursorsOf, measureAsked } from './asked-measure.ts'
import { computedTable, measureComputed } from './computed.ts'
import { type DataSet, dataSet } from './data.ts'
import { eventRuns } from './event-runs.ts'
import { firstStepsTable, measureFirstSteps } from './first-steps.ts'
import { growthTable, measureGrowth, slowRows } from './growth.ts'
import { cursorsOver, type Figure, footprint, measure, measureBeside, type Pace, walk } from './measure.ts'
import { measureOauth, oauthTable } from './oauth.ts'
import { measureOverload, overloadTable } from './overload.ts'
import { type Profiled, profile } from './profile.ts'
import { measureReactions, reactionsTable } from './reactions.ts'
import {
  askedTable,
  besideTable,
  figuresTable,
  footprintLines,
  machine,
  type Part,
  walkLine,
  writeDocs,
} from './report.ts'
import { measureSlowReads, slowReadsTable } from './slow-reads.ts'
import { soak } from './soak.ts'
import { postgres, postgresStages, type Stage, sqlite, withWorkers } from './stage.ts'
import { type Delivery, deliver, deliveryTable } from './subscribers.ts'
import { measureSending, sendingTable } from './webhooks.ts'
import { type Workload, workloads } from './workloads.ts'
import { measureWriteCosts, writeCostTable } from './write-cost.ts'

const { values, positionals: given } = parseArgs({
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

const positionals = given.flatMap(names => names.split(','))

type Count = 'rounds' | 'seconds' | 'rows' | 'minutes' | 'events' | 'listeners' | 'cuts' | 'kills'

function positive(name: Count, otherwise?: number): number {
  const value = Number(values[name] ?? otherwise)
  if (value > 0) return value
  throw new RangeError(`--${name} ${values[name]}: write a number above 0.`)
}

const paceOr = (rounds: number, seconds: number): Pace => ({
  rounds: positive('rounds', rounds),
  seconds: positive('seconds', seconds),
})
const pace = paceOr(3, 4)

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function wanted(name: string): boolean {
  return positionals.length === 0 || positionals.some(asked => name === asked || name.startsWith(`${asked}@`))
}

async function figuresOf(workload: Workload, data: DataSet, stage = sqlite): Promise<readonly Figure[]> {
  const servers: Figure['server'][] = ['cold']
  if (workload.reads && !values.cold) servers.push('hot')
  if (values.limit && !workload.name.match(/^W[67]$/)) servers.push('limit')
  const figures: Figure[] = []
  for (const server of servers) {
    const figure = await measure(workload, server, data, pace, stage)
    figures.push(figure)
    say(figuresTable([figure]).split('\n').at(-1) ?? '')
  }
  return figures
}

async function figuresOn(stage: Stage, data: DataSet, of = workloads): Promise<readonly Figure[]> {
  try {
    const figures: Figure[] = []
    for (const workload of of) figures.push(...(await figuresOf(workload, data, stage)))
    return figures
  } finally {
    await stage.close()
  }
}

/** Workloads in which the load generator does not need the core that the second worker uses. */
const heavy = workloads.filter(({ name }) => name === 'W2' || name === 'W7')

async function everything(data: DataSet): Promise<readonly Figure[]> {
  const big = workloads.filter(({ floor }) => floor.big !== undefined)
  return [
    ...(await figuresOn(sqlite, data)),
    ...(await figuresOn(sqlite, await dataSet(1_000_000), big)),
    ...(await figuresOn(withWorkers(2), data, heavy)),
    ...(await figuresOn(await postgres(data), data)),
  ]
}

async function stageOf(data: DataSet): Promise<Stage> {
  if (values.postgres) return postgres(data)
  return values.workers === undefined ? sqlite : withWorkers(Number(values.workers))
}

/** An unknown name is an error: it would measure nothing, and look like success. */
function requireKnown(): void {
  const known = [...workloads, ...askedWorkloads].map(({ name }) => name)
  known.push('W8', 'W9', 'start', 'walk')
  const unknown = positionals.filter(
    asked => !known.some(name => name === asked || name.startsWith(`${asked}@`)),
  )
  if (unknown.length === 0) return
  throw new RangeError(`There is no ${unknown.join(', ')}. The names are ${known.join(', ')}.`)
}

/** W10 to W19 on one kind of stage, in the order of their names. */
async function askedOn(
  open: (data: DataSet) => Promise<Stage>,
  rows: number,
  of: readonly AskedWorkload[],
): Promise<readonly AskedFigure[]> {
  const figures = new Map<AskedWorkload, AskedFigure>()
  for (const model of ['blog', 'editorial'] as const) {
    const own = of.filter(workload => workload.model === model)
    if (own.length === 0) continue
    const data = await dataSet(rows, model)
    const stage = await open(data)
    try {
      for (const workload of own) figures.set(workload, await askedFigure(workload, data, stage))
    } finally {
      await stage.close()
    }
  }
  return of.flatMap(workload => figures.get(workload) ?? [])
}

async function askedFigure(workload: AskedWorkload, data: DataSet, stage: Stage): Promise<AskedFigure> {
  const isEnough = workload.once === undefined || workload.once.posts <= data.rows
  // PostgreSQL deletes fewer than it has been given.
  const used = isEnough || stage.floor === 'postgres' ? data : await dataSet(workload.once.posts)
  const figure = await measureAsked(workload, used, paceOr(3, 3), stage)
  say(askedTable([figure]).split('\n').at(-1) ?? '')
  return figure
}

async function askedEverywhere(rows: number): Promise<readonly AskedFigure[]> {
  const here = async () => sqlite
  return [
    ...(await askedOn(here, rows, askedWorkloads)),
    ...(await askedOn(
      here,
      1_000_000,
      askedWorkloads.filter(({ big }) => big),
    )),
    ...(await askedOn(postgres, rows, askedWorkloads)),
  ]
}

/** The tables that every setup has. */
async function stageLines(data: DataSet, all: boolean): Promise<readonly string[]> {
  const named = workloads.filter(({ name }) => wanted(name))
  const asked = askedWorkloads.filter(({ name }) => wanted(name))
  const lines: string[] = []
  if (all) lines.push(figuresTable(await everything(data)))
  else {
    if (named.length > 0) lines.push(figuresTable(await figuresOn(await stageOf(data), data, named)))
    if (asked.length > 0) lines.push(askedTable(await askedOn(stageOf, data.rows, asked)))
  }
  return lines
}

async function bench(): Promise<void> {
  requireKnown()
  const data = await dataSet(positive('rows', standardRows))
  const isStage = values.postgres || values.workers !== undefined
  const all = positionals.length === 0 && !isStage
  const lines = [machine(), ...(await stageLines(data, all))]
  if (!isStage) lines.push(...(await otherLines(data, all)))
  const text = lines.join('\n\n')
  say(`\n${text}`)
  if (values['write-docs']) writeDocs('bench', text)
}

async function otherLines(data: DataSet, all: boolean): Promise<readonly string[]> {
  const lines: string[] = []
  if (wanted('W8')) lines.push(deliveryTable(await deliveries(data)))
  if (wanted('W9')) lines.push(oauthTable(await measureOauth(data, pace)))
  if (wanted('start')) lines.push(footprintLines(await footprint(data, pace.rounds)))
  if (wanted('walk')) lines.push(walkLine(await walk(await dataSet(all ? 1_000_000 : data.rows))))
  return lines
}

/** Alternately, so that a busy moment of the machine affects all alike. */
async function deliveries(data: DataSet): Promise<readonly Delivery[]> {
  const found: Delivery[] = []
  for (const server of ['ws', 'graphql-ws', 'Portico'] as const) found.push(await deliver(server, data, 30))
  return found
}

async function profileFirst(): Promise<void> {
  const name = positionals[1] ?? 'W1'
  const asked = askedWorkloads.find(workload => workload.name === name)
  if (asked !== undefined) {
    const requests: Profiled['requests'] = async (origin, data) =>
      asked.requests(data, await cursorsOf(origin, data.key))
    const data = await dataSet(Math.max(positive('rows', standardRows), asked.once?.posts ?? 0), asked.model)
    return say(await profile({ clients: asked.clients, requests }, data, asked.memory))
  }
  const workload = workloads.find(each => each.name === name)
  if (workload === undefined) {
    const known = [...workloads, ...askedWorkloads].map(each => each.name)
    throw new Error(`Profile one of ${known.join(', ')}.`)
  }
  const requests: Profiled['requests'] = async (origin, data) =>
    workload.requests(data.rows, await cursorsOver({ origin }, data))
  say(
    await profile(
      { clients: workload.clients, requests },
      await dataSet(positive('rows', standardRows)),
      values.hot,
    ),
  )
}

async function soakFirst(): Promise<void> {
  const asked = { minutes: positive('minutes'), lanes: positionals.slice(1), say }
  if (!(await soak(await dataSet(positive('rows', standardRows)), asked))) process.exitCode = 1
}

const beside = ['W1', 'W2', 'W4', 'W5@32', 'W6']

/** Prints the results, and with `--write-docs` writes them into their section of the page. */
function tell(part: Part, measured: string): void {
  const text = [machine(), measured].join('\n\n')
  say(`\n${text}`)
  if (values['write-docs']) writeDocs(part, text)
}

async function postgresBeside(): Promise<void> {
  const data = await dataSet(positive('rows', standardRows))
  const stages = await postgresStages(data)
  const figures: Figure[] = []
  try {
    for (const workload of workloads.filter(({ name }) => beside.includes(name)))
      figures.push(...(await measureBeside(workload, 'cold', data, paceOr(5, 2), stages)))
  } finally {
    for (const stage of stages) await stage.close()
  }
  tell('postgres', besideTable(figures))
}

async function asked(): Promise<void> {
  tell('asked', askedTable(await askedEverywhere(positive('rows', standardRows))))
}

async function growth(): Promise<void> {
  const rows = await measureGrowth()
  tell('growth', growthTable(rows))
  if (slowRows(rows) > 0) process.exitCode = 1
}

async function slowReads(): Promise<void> {
  const rows = positionals.length > 1 ? Number(positionals[1]) : 1_000_000
  const figures = await measureSlowReads(await dataSet(rows), paceOr(3, 5))
  tell('slow-reads', slowReadsTable(figures))
}

async function firstSteps(): Promise<void> {
  const text = firstStepsTable(await measureFirstSteps(positive('rounds', 3)))
  say(`\n${text}`)
  if (values['write-docs']) writeDocs('first-steps', text)
}

async function sending(): Promise<void> {
  const events = positionals.length > 1 ? Number(positionals[1]) : 1000
  const figures = await measureSending(await dataSet(positive('rows', standardRows)), events)
  say([machine(), sendingTable(figures)].join('\n\n'))
}

async function reacting(): Promise<void> {
  const events = positionals.length > 1 ? Number(positionals[1]) : 20_000
  say([machine(), reactionsTable(await measureReactions(events))].join('\n\n'))
}

const others: Readonly<Record<string, () => Promise<void>>> = {
  profile: profileFirst,
  soak: soakFirst,
  postgres: postgresBeside,
  asked,
  growth,
  'slow-reads': slowReads,
  aggregates: async () => {
    const rows = positive('rows', 1_000_000)
    say(`\n${aggregatesTable(rows, await measureAggregates(rows, positive('rounds', 5)))}`)
  },
  computed: async () => say(`\n${computedTable(await measureComputed(positive('rounds', 5)))}`),
  'log-cost': async () => say(`\n${writeCostTable(await measureWriteCosts('log', paceOr(5, 3)))}`),
  'logic-cost': async () => say(`\n${writeCostTable(await measureWriteCosts('logic', paceOr(5, 3)))}`),
  ...eventRuns({ positive, listeners: values.listeners, databases: positionals.slice(1), say, tell }),
  'first-steps': firstSteps,
  webhooks: sending,
  reactions: reacting,
  actions: async () => say(`\n${actionsTable(await measureActions(paceOr(3, 5)))}`),
  overload: async () =>
    say(overloadTable(await measureOverload(await dataSet(positive('rows', standardRows))))),
}
await (others[positionals[0] ?? ''] ?? bench)()
