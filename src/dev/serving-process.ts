/** The supervisor's side of a process that serves. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { givenEnvironment } from '../env-file.ts'
import type { FileHashes, FromServing, ToServing } from './messages.ts'
import { hasColours } from './style.ts'

const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './serving.ts' : './serving.js', import.meta.url),
)

/** After `stop` it is ended by force: longer than `shutdownGrace` is by default. */
const stopGraceMs = 15_000

export interface ProcessListeners {
  readonly onLine: (line: string) => void
  readonly onFiles: (files: FileHashes) => void
  /** A connection that it could not take. */
  readonly onReturned: (socket: Socket) => void
}

/** Every reply but `files`, which comes by itself. */
export type Reply = Exclude<FromServing, { readonly kind: 'files' }>

/** It ended by itself. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
}

function environment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir()
  return {
    ...givenEnvironment,
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }),
    // Its output is a pipe to ours.
    ...(hasColours() ? { FORCE_COLOR: '1' } : {}),
  }
}

export class ServingProcess {
  readonly #child: ChildProcess
  readonly #replies: Reply[] = []
  #wanted: PromiseWithResolvers<Reply> | undefined
  /** Resolves with what its end looks like, e.g. `exit code 1`. */
  readonly ended: Promise<string>
  #isStopped = false
  #end: string | undefined

  constructor(listeners: ProcessListeners) {
    this.#child = fork(program, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: environment() })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', listeners.onLine)
    }
    this.#child.on('message', (message: FromServing) => {
      if (message.kind === 'files') listeners.onFiles(message.files)
      else this.#replied(message)
    })
    // A message to a process that has just ended.
    this.#child.on('error', () => {})
    this.#onReturned = listeners.onReturned
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      const how = signal === null ? `exit code ${code}` : String(signal)
      this.#end = how
      this.#wanted?.reject(new ProcessEnded(how))
      return how
    })
  }

  readonly #onReturned: (socket: Socket) => void

  /** Whether it was told to end. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  send(message: ToServing): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  pass(socket: Socket): void {
    const taken = (error: Error | null) => {
      if (error && !socket.destroyed) this.#onReturned(socket)
    }
    if (this.#child.connected) this.#child.send({ kind: 'connection' }, socket, { keepOpen: false }, taken)
    else this.#onReturned(socket)
  }

  /** The next reply. Rejects with a `ProcessEnded`. */
  reply(): Promise<Reply> {
    const there = this.#replies.shift()
    if (there) return Promise.resolve(there)
    this.#wanted = Promise.withResolvers<Reply>()
    if (this.#end !== undefined) this.#wanted.reject(new ProcessEnded(this.#end))
    return this.#wanted.promise
  }

  /** Finishes what runs, and ends. */
  stop(): void {
    this.#isStopped = true
    this.send({ kind: 'stop' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopGraceMs)
    this.ended.then(() => clearTimeout(timer))
  }

  /** Ends at once. For a process that serves nothing. */
  kill(): void {
    this.#isStopped = true
    this.#child.kill('SIGKILL')
  }

  #replied(message: Reply): void {
    if (this.#wanted) this.#wanted.resolve(message)
    else this.#replies.push(message)
    this.#wanted = undefined
  }
}
