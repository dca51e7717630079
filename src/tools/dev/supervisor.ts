/**
 * `portico dev`: holds the listening socket, and starts a process for every version of the model. The previous version keeps
 * serving until the next one is ready, and if that has faults (decisions/development-mode.md).
 */
import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { defaultModel } from '../../server/project/project.ts'
import { shownPath } from '../../server/project/source/frame.ts'
import { failureOf } from '../cli/error-message.ts'
import { servicePaths } from './addresses.ts'
import { mailLine } from './event-lines.ts'
import { ListeningSocket } from './listening-socket.ts'
import { hashesOf, projectFiles, sourcesOf } from './loaded-files.ts'
import { Mailbox, type NewMail } from './mail/mailbox.ts'
import type { FileHashes, ModuleTexts, VersionOptions } from './messages.ts'
import { ServingProcess } from './serving-process.ts'
import { SourceWatcher } from './source-watcher.ts'
import type { Terminal } from './terminal.ts'
import { aborted, lastGoodNotice, startVersion, type VersionOutcome } from './version.ts'

export interface DevOptions {
  readonly version: VersionOptions
  /** Whether migrations that do more than add are applied without a confirmation. */
  readonly assumesYes: boolean
  readonly terminal: Terminal
}

/** The pauses before the retries of a start. */
const pausesMs = [250, 500, 1000, 2000, 5000]
/** The time after which a serving version counts as healthy: retries then begin with the shortest pause again. */
const healthyMs = 10_000
/** The time for running requests to finish before a migration that the serving version does not expect. */
const drainMs = 500

export class Supervisor {
  readonly #options: DevOptions
  readonly #terminal: Terminal
  readonly #listeningSocket = new ListeningSocket()
  readonly #watcher: SourceWatcher
  readonly #mailbox = new Mailbox()
  /** All processes that have not ended. */
  readonly #processes = new Set<ServingProcess>()
  #current: ServingProcess | undefined
  /** The process for the next version, with everything but the model loaded. */
  #standby: ServingProcess | undefined
  /** Aborted when another version has to be started. */
  #attempt = new AbortController()
  /** Since the version that is served. */
  #changed = new Set<string>()
  /** The files of the version that was loaded last. */
  #loaded: FileHashes = []
  /** The modules of the last version that served, in case the files have a fault. */
  #lastGood: ModuleTexts | undefined
  #failures = 0
  #lastFault = ''
  #shownUrl = ''
  #isClosing = false

  constructor(options: DevOptions) {
    this.#options = options
    this.#terminal = options.terminal
    this.#watcher = new SourceWatcher(paths => this.#onChange(paths))
    const { model } = options.version.commandLine
    const modelFile = resolve(typeof model === 'string' ? model : defaultModel)
    this.#watcher.add(hashesOf([modelFile, ...projectFiles(process.cwd())]))
  }

  /** Serves until `close`. Rejects if it cannot listen at the start. */
  async run(): Promise<void> {
    while (!this.#isClosing) {
      this.#attempt = new AbortController()
      const { signal } = this.#attempt
      const mayRetry = await this.#nextVersion(signal)
      await Promise.race([aborted(signal), ...(mayRetry ? [this.#pause()] : [])])
    }
  }

  /** Lets running requests finish. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#watcher.close()
    this.#listeningSocket.close()
    this.#attempt.abort()
    for (const process of this.#processes) {
      if (process !== this.#current && !process.isStopped) process.kill()
    }
    this.#current?.stop(false)
    await Promise.all([...this.#processes].map(process => process.ended))
  }

  /** Returns whether a retry without a change may succeed. */
  async #nextVersion(signal: AbortSignal): Promise<boolean> {
    const startedAt = performance.now()
    const changed = [...this.#changed]
    this.#changed.clear()
    const outcome = await this.#startNext(signal, undefined)
    if (outcome.kind !== 'ready') this.#changed = new Set([...changed, ...this.#changed])
    if (outcome.kind === 'ready') {
      this.#lastGood = sourcesOf(this.#loaded)
      this.#showReady(outcome, changed, Math.round(performance.now() - startedAt))
    }
    if (outcome.kind !== 'failed') return false
    const isRestored = !outcome.isTransient && (await this.#serveLastGood(signal))
    this.#showFault(outcome.text)
    if (isRestored)
      this.#terminal.note('The last good model is served again, because the files have a fault.')
    return outcome.isTransient
  }

  /** Serves the last good version if no other version serves. Returns whether it serves. */
  async #serveLastGood(signal: AbortSignal): Promise<boolean> {
    if (this.#current || this.#lastGood === undefined || this.#isClosing) return false
    return (await this.#startNext(signal, this.#lastGood)).kind === 'ready'
  }

  /** Starts a version, which takes over once it is ready. */
  async #startNext(signal: AbortSignal, sources: ModuleTexts | undefined): Promise<VersionOutcome> {
    const next = this.#standby ?? this.#start()
    this.#standby = undefined
    next.send({ kind: 'mails', mails: this.#mailbox.list() })
    const outcome = await this.#outcome(next, signal, sources)
    if (outcome.kind === 'ready') {
      this.#serve(next)
    } else {
      next.kill()
      // The current version may have given back its connections.
      this.#resume()
    }
    if (!this.#isClosing) this.#standby = this.#start()
    return outcome
  }

  async #outcome(
    next: ServingProcess,
    signal: AbortSignal,
    sources: ModuleTexts | undefined,
  ): Promise<VersionOutcome> {
    const { version, assumesYes, terminal } = this.#options
    try {
      return await startVersion({
        ...{ process: next, version, sources, signal, terminal, assumesYes },
        isServing: this.#current !== undefined,
        onFiles: (files, isComplete) => this.#onFiles(files, isComplete, sources !== undefined),
        listen: (host, port) => this.#listen(host, port),
        beforeMigration: () => this.#drain(),
      })
    } catch (error) {
      next.kill()
      const failure = this.#listeningSocket.port === 0 ? undefined : await failureOf(error)
      if (failure === undefined) throw error
      // The settings name another address, at which it cannot listen: the earlier one is kept.
      return { kind: 'failed', text: failure.message, isTransient: true }
    }
  }

  /** `isEarlier`: the files belong to an earlier version. */
  #onFiles(files: FileHashes, isComplete: boolean, isEarlier: boolean): void {
    if (isEarlier) return
    if (isComplete) this.#loaded = files
    if (isComplete) this.#watcher.replace(files)
    else this.#watcher.add(files)
  }

  async #listen(host: string, port: number): Promise<number> {
    await this.#listeningSocket.listen(host, port)
    return this.#listeningSocket.port
  }

  /** Holds connections, and lets running requests finish. */
  async #drain(): Promise<void> {
    this.#listeningSocket.hold()
    await Promise.race([this.#current?.giveBack(), wait(drainMs)])
  }

  /** Lets the current version continue to serve. */
  #resume(): void {
    if (this.#current === undefined) return
    this.#current.send({ kind: 'keep' })
    this.#passTo(this.#current)
  }

  #start(): ServingProcess {
    const started = new ServingProcess({
      onLine: line => this.#terminal.line(line),
      onFiles: files => this.#watcher.add(files),
      // After the `ready` message of the same chunk, which is handled a few promise turns later.
      onNote: sentence => setImmediate(() => this.#terminal.note(sentence)),
      onMail: mail => this.#onMail(mail),
      onReturned: socket => this.#onReturned(started, socket),
    })
    this.#processes.add(started)
    started.ended.then(exitStatus => this.#onEnd(started, exitStatus))
    return started
  }

  /** A process that is about to end accepts no more connections: they wait for the next process. */
  #onReturned(process: ServingProcess, socket: Socket): void {
    if (process === this.#current && !process.isConnected) this.#listeningSocket.hold()
    this.#listeningSocket.accept(socket)
  }

  /** Sends a mail to every process, since the next version shows it too. */
  #onMail(mail: NewMail): void {
    const stored = this.#mailbox.add(mail)
    for (const process of this.#processes) process.send({ kind: 'mails', mails: [stored] })
    this.#terminal.line(mailLine(stored, this.#shownUrl))
  }

  #passTo(process: ServingProcess): void {
    this.#listeningSocket.pass(socket => process.pass(socket))
  }

  #serve(next: ServingProcess): void {
    const previous = this.#current
    this.#current = next
    this.#passTo(next)
    previous?.stop(true)
    const timer = setTimeout(() => {
      this.#failures = 0
    }, healthyMs)
    next.ended.then(() => clearTimeout(timer))
  }

  #onChange(paths: readonly string[]): void {
    for (const path of paths) this.#changed.add(path)
    this.#failures = 0
    this.#lastFault = ''
    this.#attempt.abort()
  }

  #onEnd(process: ServingProcess, exitStatus: string): void {
    this.#processes.delete(process)
    if (process === this.#standby) this.#standby = undefined
    if (process !== this.#current || this.#isClosing) return
    this.#current = undefined
    this.#listeningSocket.hold()
    this.#terminal.note(
      `The service has exited (${exitStatus}). It is restarted; connections wait meanwhile.`,
    )
    const { signal } = this.#attempt
    const attempt = this.#attempt
    Promise.race([aborted(signal), this.#pause()]).then(() => attempt.abort())
  }

  #pause(): Promise<void> {
    const ms = pausesMs[Math.min(this.#failures++, pausesMs.length - 1)] ?? 0
    return wait(ms, undefined, { ref: false })
  }

  #showReady(
    { ready, model }: Extract<VersionOutcome, { kind: 'ready' }>,
    changed: readonly string[],
    ms: number,
  ): void {
    const { migrated, addresses } = ready
    this.#lastFault = ''
    for (const sentence of migrated) this.#terminal.note(`Migrated: ${sentence}`)
    if (addresses.url !== this.#shownUrl || addresses.welcome !== undefined) {
      this.#shownUrl = addresses.url
      this.#terminal.addresses(addresses, {
        program: 'Portico dev',
        sentence: `serves ${model}, ready in ${ms} ms. It reloads when a file changes; press Ctrl-C to stop.`,
        paths: [...servicePaths, ['Mails', '/dev/mail']],
      })
    } else {
      const cause = changed.length === 0 ? 'the service is back' : changed.map(shownPath).join(', ')
      this.#terminal.note(`Reloaded in ${ms} ms: ${cause}`)
    }
  }

  /** Does not show the same fault again. */
  #showFault(text: string): void {
    if (this.#isClosing || text === this.#lastFault) return
    this.#lastFault = text
    const consequence = this.#current ? lastGoodNotice : 'Nothing is served until this is fixed.'
    this.#terminal.fault(text, consequence)
  }
}
