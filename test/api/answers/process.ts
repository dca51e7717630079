/** The process of `measured.ts`: a service that measures what a request takes. Ends with its parent. */
import { readFileSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'
import tracker from '../../models/tracker.ts'
import type { Start, Usage } from './measured.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** The resident memory, and its maximum since the last reset, in bytes. */
function residentBytes(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1])
}

class Meter {
  #baseBytes = 0
  #isRunning = false
  #maxTurnMs = 0

  begin(): void {
    collectGarbage()
    writeFileSync('/proc/self/clear_refs', '5')
    this.#baseBytes = residentBytes('VmRSS')
    this.#maxTurnMs = 0
    this.#isRunning = true
    this.#watch(process.threadCpuUsage())
  }

  /** Processor time, because other programs on the machine also make turns longer. */
  #watch(before: NodeJS.CpuUsage): void {
    setImmediate(() => {
      const { user, system } = process.threadCpuUsage(before)
      this.#maxTurnMs = Math.max(this.#maxTurnMs, (user + system) / 1000)
      if (this.#isRunning) this.#watch(process.threadCpuUsage())
    })
  }

  end(): Usage {
    this.#isRunning = false
    return { maxTurnMs: this.#maxTurnMs, bytes: residentBytes('VmHWM') - this.#baseBytes }
  }
}

const { model, settings } = JSON.parse(process.argv[2] ?? '') as Start
const service = await serve(model === 'blog' ? blog : tracker, settings)
const meter = new Meter()
process.on('message', command => {
  if (command === 'begin') meter.begin()
  process.send?.(command === 'begin' ? null : meter.end())
})
process.on('disconnect', () => void service.close().then(() => process.exit()))
process.send?.(service.url)
