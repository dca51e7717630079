/**
 * `npm run bench [-- names] [--rounds n] [--seconds n] [--rows n] [--cold] [--limit] [--write-docs]`
 * `npm run bench -- profile W1 [--hot]`
 * `npm run bench -- overload`
 * `npm run bench -- soak [--minutes 30]`
 *
 * Names are W1 to W9, `start` and `walk`; without any, all of them.
 */
import { parseArgs } from 'node:util'
import { type DataSet, dataSet } from './data.ts'
import { type Figure, footprint, measure, type Pace, walk } from './measure.ts'
import { measureOauth, oauthTable } from './oauth.ts'
import { measureOverload, overloadTable } from './overload.ts'
import { profile } from './profile.ts'
import { figuresTable, footprintLines, machine, walkLine, writeDocs } from './report.ts'
import { soak } from './soak.ts'
import { type Delivery, deliver, deliveryTable } from './subscribers.ts'
import { type Workload, workloads } from './workloads.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    rows: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '30' },
    cold: { type: 'boolean', default: false },
    hot: { type: 'boolean', default: false },
    limit: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
  },
})
const pace: Pace = { rounds: Number(values.rounds), seconds: Number(values.seconds) }

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function wanted(name: string): boolean {
  return positionals.length === 0 || positionals.some(asked => name === asked || name.startsWith(`${asked}@`))
}

async function figuresOf(workload: Workload, data: DataSet): Promise<readonly Figure[]> {
  const servers: Figure['server'][] = ['cold']
  if (workload.reads && !values.cold) servers.push('hot')
  if (values.limit && !workload.name.match(/^W[67]$/)) servers.push('limit')
  const figures: Figure[] = []
  for (const server of servers) {
    const figure = await measure(workload, server, data, pace)
    figures.push(figure)
    say(figuresTable([figure]).split('\n').at(-1) ?? '')
  }
  return figures
}

async function bench(): Promise<void> {
  const data = await dataSet(Number(values.rows))
  const figures: Figure[] = []
  for (const workload of workloads.filter(({ name }) => wanted(name))) {
    figures.push(...(await figuresOf(workload, data)))
  }
  const all = positionals.length === 0
  if (all && data.rows < 1_000_000) {
    const big = await dataSet(1_000_000)
    for (const workload of workloads.filter(({ floor }) => floor.big !== undefined)) {
      figures.push(...(await figuresOf(workload, big)))
    }
  }
  const lines = [machine(), figuresTable(figures)]
  if (wanted('W8')) lines.push(deliveryTable(await deliveries(data)))
  if (wanted('W9')) lines.push(oauthTable(await measureOauth(data, pace)))
  if (wanted('start')) lines.push(footprintLines(await footprint(data, pace.rounds)))
  if (wanted('walk')) lines.push(walkLine(await walk(await dataSet(all ? 1_000_000 : data.rows))))
  const text = lines.join('\n\n')
  say(`\n${text}`)
  if (values['write-docs']) writeDocs(text)
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
  say(await profile(workload, await dataSet(Number(values.rows)), values.hot))
}

async function soakFirst(): Promise<void> {
  if (!(await soak(await dataSet(Number(values.rows)), Number(values.minutes), say))) process.exitCode = 1
}

const others: Readonly<Record<string, () => Promise<void>>> = {
  profile: profileFirst,
  soak: soakFirst,
  overload: async () => say(overloadTable(await measureOverload(await dataSet(Number(values.rows))))),
}
await (others[positionals[0] ?? ''] ?? bench)()
