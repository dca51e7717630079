/** How long inputs of the maximum size, of half of it and of a quarter of it block the event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { inputs } from '../../test/system/growth/inputs.ts'
import type { GrowthInput } from '../../test/system/growth/measure.ts'
import { callsOf } from '../../test/system/growth/requests.ts'
import { withTarget } from '../../test/system/growth/target.ts'

/** No input within the limits may block the event loop for longer. */
const maxBlockingMs = 50
const rounds = 5

interface BlockingTime {
  readonly name: string
  readonly bound: number
  /** The times for a quarter, a half and the whole of the bound. */
  readonly ms: readonly number[]
}

type Clock = (call: () => unknown) => Promise<number>

/** For a call that does all of its work synchronously. */
const synchronousMs: Clock = async call => {
  const start = performance.now()
  await call()
  return performance.now() - start
}

/** The longest delay of the event loop, in the process of both the service and its client. */
const eventLoopDelayMs: Clock = async call => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await wait(3)
  delay.reset()
  await call()
  await wait(3)
  delay.disable()
  return delay.max / 1e6
}

/** The minimum of a few rounds, to exclude the influence of other processes. */
async function blockingTime({ name, bound, call }: GrowthInput, clock: Clock): Promise<BlockingTime> {
  const ms: number[] = []
  for (const part of [4, 2, 1]) {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < rounds; round++) least = Math.min(least, await clock(call(bound / part)))
    ms.push(least)
  }
  return { name, bound, ms }
}

const kind = (name: string) => name.split(':')[0]?.replace(/^(format|field|pattern) .*/, '$1') ?? name

/** Returns the slowest input of each kind, by a first measurement. */
async function worst(): Promise<readonly GrowthInput[]> {
  const measured: { readonly input: GrowthInput; readonly ms: number }[] = []
  for (const input of inputs) measured.push({ input, ms: await synchronousMs(input.call(input.bound)) })
  return [...Map.groupBy(measured, ({ input }) => kind(input.name)).values()].map(
    group => group.reduce((a, b) => (b.ms > a.ms ? b : a)).input,
  )
}

export async function measureGrowth(): Promise<readonly BlockingTime[]> {
  const functions: BlockingTime[] = []
  for (const input of await worst()) functions.push(await blockingTime(input, synchronousMs))
  const requests: BlockingTime[] = []
  await withTarget(async target => {
    for (const input of callsOf(target)) requests.push(await blockingTime(input, eventLoopDelayMs))
  })
  return [...functions, ...requests]
}

export function growthTable(rows: readonly BlockingTime[]): string {
  return [
    '| input | size | ms at a quarter | at a half | at the whole | |',
    '|---|---|---|---|---|---|',
    ...rows.map(({ name, bound, ms }) => {
      const cells = [name, bound.toLocaleString('en'), ...ms.map(value => value.toFixed(1))]
      return `| ${cells.join(' | ')} | ${Math.max(...ms) > maxBlockingMs ? `over ${maxBlockingMs} ms` : ''} |`
    }),
  ].join('\n')
}

export function slowRows(rows: readonly BlockingTime[]): number {
  return rows.filter(({ ms }) => Math.max(...ms) > maxBlockingMs).length
}
