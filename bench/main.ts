/**
 * `npm run bench [-- names] [--rounds n] [--seconds n] [--rows n] [--cold] [--limit] [--write-docs]`,
 * with `--postgres` on a PostgreSQL server of its own, with `--workers n` on that many threads
 * `npm run bench -- profile W1 [--hot]`
 * `npm run bench -- overload`
 * `npm run bench -- postgres [--rounds n] [--seconds n] [--write-docs]`: what row security and a read replica cost
 * `npm run bench -- growth [--write-docs]`: how long the largest inputs hold the event loop
 * `npm run bench -- slow-reads [rows] [--rounds n] [--seconds n] [--write-docs]`: what others take while some scan
 * `npm run bench -- soak [lanes] [--minutes 30]`: bench/soak-load.ts names the lanes
 *
 * Names are W1 to W9, `start` and `walk`; without any, all of them, and what two workers and PostgreSQL give.
 */
import { parseArgs } from 'node:util'
import { type DataSet, dataSet } from './data.ts'
import { growthTable, measureGrowth, slowRows } from './growth.ts'
import { type Figure, footprint, measure, measureBeside, type Pace, walk } from './measure.ts'
import { measureOauth, oauthTable } from './oauth.ts'
import { measureOverload, overloadTable } from './overload.ts'
import { profile } from './profile.ts'
import { besideTable, figuresTable, footprintLines, machine, walkLine, writeDocs } from './report.ts'
import { measureSlowReads, slowReadsTable } from './slow-reads.ts'
import { soak } from './soak.ts'
import { postgres, postgresStages, type Stage, sqlite, withWorkers } from './stage.ts'
import { type Delivery, deliver, deliveryTable } from './subscribers.ts'
import { type Workload, workloads } from './workloads.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '30' },
    cold: { type: 'boolean', default: false },
    hot: { type: 'boolean', default: false },
    limit: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    workers: { type: 'string' },
    'write-docs': { type: 'boolean', default: false },
  },
})

function positive(name: 'rounds' | 'seconds' | 'rows' | 'minutes', otherwise?: number): number {
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

/** Where the load generator, which has one of two cores, does not take what the second worker could use. */
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

/** What measures nothing must not look as if all were well. */
function requireKnown(): void {
  const known = [...workloads.map(({ name }) => name), 'W8', 'W9', 'start', 'walk']
  const unknown = positionals.filter(
    asked => !known.some(name => name === asked || name.startsWith(`${asked}@`)),
  )
  if (unknown.length === 0) return
  throw new RangeError(`There is no ${unknown.join(', ')}. There is ${known.join(', ')}.`)
}

async function bench(): Promise<void> {
  requireKnown()
  const data = await dataSet(positive('rows'))
  const isStage = values.postgres || values.workers !== undefined
  const all = positionals.length === 0 && !isStage
  const asked = workloads.filter(({ name }) => wanted(name))
  const figures = all ? await everything(data) : await figuresOn(await stageOf(data), data, asked)
  const lines = [machine(), figuresTable(figures)]
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

/** In turns, so that a busy moment of the machine touches all alike. */
async function deliveries(data: DataSet): Promise<readonly Delivery[]> {
  const found: Delivery[] = []
  for (const server of ['ws', 'graphql-ws', 'Portico'] as const) found.push(await deliver(server, data, 30))
  return found
}

async function profileFirst(): Promise<void> {
  const workload = workloads.find(({ name }) => name === (positionals[1] ?? 'W1'))
  if (workload === undefined)
    throw new Error(`Profile one of ${workloads.map(({ name }) => name).join(', ')}.`)
  say(await profile(workload, await dataSet(positive('rows')), values.hot))
}

async function soakFirst(): Promise<void> {
  const asked = { minutes: positive('minutes'), lanes: positionals.slice(1), say }
  if (!(await soak(await dataSet(positive('rows')), asked))) process.exitCode = 1
}

const beside = ['W1', 'W2', 'W4', 'W5@32', 'W6']

async function postgresBeside(): Promise<void> {
  const data = await dataSet(positive('rows'))
  const stages = await postgresStages(data)
  const figures: Figure[] = []
  try {
    for (const workload of workloads.filter(({ name }) => beside.includes(name)))
      figures.push(...(await measureBeside(workload, 'cold', data, paceOr(5, 2), stages)))
  } finally {
    for (const stage of stages) await stage.close()
  }
  const text = [machine(), besideTable(figures)].join('\n\n')
  say(text)
  if (values['write-docs']) writeDocs('postgres', text)
}

async function growth(): Promise<void> {
  const rows = await measureGrowth()
  const text = [machine(), growthTable(rows)].join('\n\n')
  say(text)
  if (values['write-docs']) writeDocs('growth', text)
  if (slowRows(rows) > 0) process.exitCode = 1
}

async function slowReads(): Promise<void> {
  const rows = positionals.length > 1 ? Number(positionals[1]) : 1_000_000
  const figures = await measureSlowReads(await dataSet(rows), paceOr(3, 5))
  const text = [machine(), slowReadsTable(figures)].join('\n\n')
  say(text)
  if (values['write-docs']) writeDocs('slow-reads', text)
}

const others: Readonly<Record<string, () => Promise<void>>> = {
  profile: profileFirst,
  soak: soakFirst,
  postgres: postgresBeside,
  growth,
  'slow-reads': slowReads,
  overload: async () => say(overloadTable(await measureOverload(await dataSet(positive('rows'))))),
}
await (others[positionals[0] ?? ''] ?? bench)()
