/** A serving process, as the supervisor sees it. */
import { type ChildProcess, fork } from 'node:child_process'
import { getCompileCacheDir } from 'node:module'
import { Socket } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { processEnvironment } from '../../base/env-file.ts'
import { isBuilt } from '../../base/package-files.ts'
import { stopReading } from '../../server/http/moving-connections.ts'
import type { NewMail } from './mail/mailbox.ts'
import type { FileHashes, FromServing, ToServing } from './messages.ts'
import { hasColours } from './style.ts'

const program = fileURLToPath(new URL(isBuilt ? './serving.js' : './serving.ts', import.meta.url))

/** The time after `stop` at which the process is killed. It is longer than the default of `shutdown.grace`. */
const stopGraceMs = 15_000

/** How long the last output of an ended process may take to arrive. */
const outputGraceMs = 500

export interface ProcessListeners {
  readonly onLine: (line: string) => void
  readonly onFiles: (files: FileHashes) => void
  readonly onNote: (sentence: string) => void
  readonly onMail: (mail: NewMail) => void
  /** A connection that the process could not accept, or gave back. */
  readonly onReturned: (socket: Socket) => void
}

/** A message that replies to a message of the supervisor. */
export type ServingReply = Exclude<
  FromServing,
  { readonly kind: 'files' | 'note' | 'mail' | 'connection' | 'received' | 'gave-back' }
>

/** The process ended before it replied. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded'
}

function environment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir()
  return {
    ...processEnvironment,
    ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }),
    // The process cannot detect the terminal, because its standard output is a pipe.
    ...(hasColours() ? { FORCE_COLOR: '1' } : {}),
  }
}

export class ServingProcess {
  readonly #child: ChildProcess
  readonly #listeners: ProcessListeners
  readonly #replies: ServingReply[] = []
  /** Connections that are being sent to the process, by their ids. */
  readonly #inTransit = new Map<number, Socket>()
  #lastId = 0
  #awaited: PromiseWithResolvers<ServingReply> | undefined
  #gaveBack = Promise.withResolvers<void>()
  /** Resolves with the exit status, e.g. `exit code 1`, or the signal that ended the process. */
  readonly ended: Promise<string>
  #isStopped = false
  #exitStatus: string | undefined

  constructor(listeners: ProcessListeners) {
    this.#listeners = listeners
    this.#child = fork(program, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: environment() })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', listeners.onLine)
    }
    this.#child.on('message', (message, handle) => this.#receive(message as FromServing, handle))
    // The process could not be started, or a message was sent just after its end: `close` follows.
    this.#child.on('error', () => {})
    this.ended = new Promise(resolve => {
      // A process that it has started may keep its output open, so that `close` never comes.
      this.#child.once('exit', (...status) =>
        setTimeout(() => this.#child.emit('close', ...status), outputGraceMs).unref(),
      )
      this.#child.once('close', (code, signal) => {
        const exitStatus = signal === null ? `exit code ${code}` : String(signal)
        this.#exitStatus = exitStatus
        this.#awaited?.reject(new ProcessEnded(exitStatus))
        for (const id of [...this.#inTransit.keys()]) this.#return(id)
        resolve(exitStatus)
      })
    })
  }

  /** Whether `stop` or `kill` was called. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Whether it can accept connections. */
  get isConnected(): boolean {
    return this.#child.connected
  }

  send(message: ToServing): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** The socket stays open here until the process has received it: a connection that was sent may never arrive. */
  pass(socket: Socket): void {
    const id = ++this.#lastId
    this.#inTransit.set(id, socket)
    const message: ToServing = { kind: 'connection', id }
    const onSent = (error: Error | null) => {
      if (error !== null) this.#return(id)
    }
    if (this.#child.connected) this.#child.send(message, socket, { keepOpen: true }, onSent)
    else this.#return(id)
  }

  #return(id: number): void {
    const socket = this.#inTransit.get(id)
    this.#inTransit.delete(id)
    if (socket && !socket.destroyed) this.#listeners.onReturned(socket)
  }

  #release(id: number): void {
    this.#inTransit.get(id)?.destroy()
    this.#inTransit.delete(id)
  }

  /** The next reply. Rejects with a `ProcessEnded`. */
  reply(): Promise<ServingReply> {
    const received = this.#replies.shift()
    if (received) return Promise.resolve(received)
    this.#awaited = Promise.withResolvers<ServingReply>()
    if (this.#exitStatus !== undefined) this.#awaited.reject(new ProcessEnded(this.#exitStatus))
    return this.#awaited.promise
  }

  /** Resolves when the process has given back all of its connections. */
  giveBack(): Promise<void> {
    this.#gaveBack = Promise.withResolvers()
    this.send({ kind: 'give-back' })
    return this.#gaveBack.promise
  }

  /** Lets the process finish running requests, and exit. */
  stop(isReplaced: boolean): void {
    this.#isStopped = true
    this.send({ kind: 'stop', isReplaced })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopGraceMs)
    this.ended.then(() => clearTimeout(timer))
  }

  /** Ends the process at once. Only for a process that does not serve. */
  kill(): void {
    this.#isStopped = true
    this.#child.kill('SIGKILL')
  }

  #receive(message: FromServing, handle: unknown): void {
    if (message.kind === 'files') this.#listeners.onFiles(message.files)
    else if (message.kind === 'note') this.#listeners.onNote(message.text)
    else if (message.kind === 'mail') this.#listeners.onMail(message.mail)
    else if (message.kind === 'received') this.#release(message.id)
    else if (message.kind === 'gave-back') this.#gaveBack.resolve()
    else if (message.kind !== 'connection') this.#onReply(message)
    else if (handle instanceof Socket && stopReading(handle)) this.#listeners.onReturned(handle)
  }

  #onReply(message: ServingReply): void {
    if (this.#awaited) this.#awaited.resolve(message)
    else this.#replies.push(message)
    this.#awaited = undefined
  }
}
