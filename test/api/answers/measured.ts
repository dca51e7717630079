/** A service in a process of its own, which measures the time on the event loop and the memory that requests take. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { GivenSettings } from '../../../src/server/config/config.ts'

export interface Start {
  readonly model: 'blog' | 'tracker'
  readonly settings: GivenSettings
}

export interface Usage {
  /** The longest turn of the event loop, in milliseconds of processor time. */
  readonly maxTurnMs: number
  /** By how much the memory of the process grew at most. */
  readonly bytes: number
}

export class MeasuredService {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  static async start(start: Start): Promise<MeasuredService> {
    const child = fork(new URL('process.ts', import.meta.url), [JSON.stringify(start)], { stdio: 'inherit' })
    return new MeasuredService(child, await nextMessage(child))
  }

  async measure(work: () => Promise<void>): Promise<Usage> {
    await this.#command('begin')
    await work()
    return this.#command('end')
  }

  async close(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.disconnect()
    await exit
  }

  #command<T>(command: string): Promise<T> {
    const answer = nextMessage<T>(this.#child)
    this.#child.send(command)
    return answer
  }
}

async function nextMessage<T>(child: ChildProcess): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const onExit = (code: number | null) => ended.reject(new Error(`the service has ended with ${code}`))
  child.once('exit', onExit)
  try {
    const [message] = await Promise.race([once(child, 'message'), ended.promise])
    return message as T
  } finally {
    child.off('exit', onExit)
  }
}
