/**
 * A process that serves one version of the model, as the supervisor starts it: modules cannot be unloaded, so every version
 * has a process of its own. It starts before it is needed, and waits for `load` with Portico's modules loaded.
 */

import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { migrationOf, shownSteps } from '../cli/commands/migrate.ts'
import { welcome } from '../cli/commands/start.ts'
import { failureOf } from '../cli/error-message.ts'
import { loadProject, type Project } from '../cli/options.ts'
import type { Settings } from '../config.ts'
import { loadEnvFile } from '../env-file.ts'
import type { Model } from '../model/model.ts'
import { createLog } from '../observability/log.ts'
import { loadSettings } from '../project.ts'
import { loadMailTemplates } from '../serve/background/mailer.ts'
import { themeOf } from '../serve/oauth/account-pages.ts'
import type { OpenService } from '../serve/service.ts'
import { open } from '../serve.ts'
import { describeCrash } from '../source/describe.ts'
import type { Step } from '../store/schema/diff.ts'
import { EventLines } from './event-lines.ts'
import { fileHash, hashesOf, loadSources, projectFiles, recordFiles } from './loaded-files.ts'
import { isOfDeveloper } from './mail/local-request.ts'
import { Mailbox, type ShownMail } from './mail/mailbox.ts'
import { createMailPages } from './mail/routes.ts'
import type { FileHashes, FromServing, Sources, ToServing, VersionOptions } from './messages.ts'

/** How long requests get to be answered before their connections end with them: long polls take longer. */
const longestAnswerMs = 5000
/** How often a migration that waits for a yes looks whether `portico migrate` has done it. */
const migrationPollMs = 1000

/** Only the developer's machine reaches the service unless `HOST` says otherwise. */
const developmentDefaults = { host: '127.0.0.1' }

/** At once, unlike the log of `portico start`, which collects lines. */
const output = { write: (lines: string) => void process.stdout.write(lines) }

function report(message: FromServing): void {
  process.send?.(message)
}

function isMigration({ additive, faults }: Step): boolean {
  return !additive || faults !== undefined
}

function migrationMessage(steps: readonly Step[]): FromServing {
  const parts = steps.flatMap<{ readonly sentence: string }>(step => step.parts ?? [step])
  const has = (verb: string) => parts.some(({ sentence }) => sentence.startsWith(verb))
  return {
    kind: 'migration',
    text: shownSteps(steps, false),
    isFitting: steps.every(({ faults }) => faults === undefined),
    mayRename: has('Drop the') && (has('Add the') || has('Create the')),
  }
}

/** Resolves once the supervisor has the connection. */
function sent(socket: Socket): Promise<void> {
  const message: FromServing = { kind: 'connection' }
  return new Promise(resolve => {
    process.send?.(message, socket, { keepOpen: false }, () => {
      socket.destroy()
      resolve()
    })
  })
}

/** A path that answers without a credential. */
function openPath({ collections }: Model): string {
  const readable = [...collections.values()].find(({ access }) => access.read.kind === 'anyone')
  return readable ? `/api/v1/${readable.name}` : '/api/v1/openapi.json'
}

function settingsOfDevelopment(settings: Settings, port: number): Settings {
  const guides = settings['docs.guides']
  // Whoever develops is the operator too.
  const shown = guides === 'callers' ? 'all' : guides
  // As the address that is printed, and in links.
  const host = settings.host === developmentDefaults.host ? 'localhost' : settings.host
  return { ...settings, host, port, autoMigrate: true, workers: 1, 'docs.guides': shown }
}

class ServingProcess {
  #files: (readonly [string, string | null])[] = []
  #isLoaded = false
  #client: string | undefined
  #areMailsShared = false
  #project: Project | undefined
  #service: OpenService | undefined
  #events: EventLines | undefined
  readonly #mailbox = new Mailbox()
  /** The connections that were given back. */
  readonly #sending: Promise<void>[] = []
  readonly #permission = Promise.withResolvers<true>()

  /** `sources`: of an earlier version; undefined: the files as they are. */
  async load({ given, client, areMailsShared }: VersionOptions, sources: Sources | undefined): Promise<void> {
    this.#client = client
    this.#areMailsShared = areMailsShared
    recordFiles((path, hash) => this.#noteFile(path, hash))
    if (sources) loadSources(sources)
    this.#files.push(...hashesOf(projectFiles(process.cwd())))
    try {
      loadEnvFile()
      const { model: file, 'mail.templates': mails } = await loadSettings(given, developmentDefaults)
      for (const path of [file, mails])
        if (path !== undefined) this.#noteFile(resolve(path), fileHash(resolve(path)))
      this.#project = await loadProject(given, developmentDefaults)
      const { settings, path: model } = this.#project
      await loadMailTemplates(settings)
      report({ kind: 'loaded', files: this.#takeFiles(), host: settings.host, port: settings.port, model })
    } catch (error) {
      await this.#failed(error, false)
    }
  }

  async open(port: number): Promise<void> {
    if (this.#project === undefined) return
    const project = { ...this.#project, settings: settingsOfDevelopment(this.#project.settings, port) }
    try {
      const migrated = await this.#migrate(project)
      const service = await this.#serve(project)
      const { url, firstAdministrator: made } = service.service
      const addresses = {
        url,
        openPath: openPath(project.model),
        welcome: made && welcome(made, project.settings.baseUrl ?? url),
      }
      report({ kind: 'ready', migrated: made ? [] : migrated, addresses })
      await this.#renewClient(project)
    } catch (error) {
      await this.#failed(error, true)
    }
  }

  /** Of this run. */
  show(mails: readonly ShownMail[]): void {
    for (const mail of mails) this.#mailbox.put(mail)
  }

  permit(): void {
    this.#permission.resolve(true)
  }

  accept(socket: Socket): void {
    // Node makes it anew here, without the options that it was accepted with.
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    this.#service?.http.movingConnections().accept(socket)
  }

  async giveBack(): Promise<void> {
    await this.#service?.http.movingConnections().giveAway(socket => void this.#sending.push(sent(socket)))
    await Promise.all(this.#sending)
    report({ kind: 'gave-back' })
  }

  keep(): void {
    this.#service?.http.movingConnections().keep()
  }

  /** `isReplaced`: another one serves on, so that connections need not end. */
  async stop(isReplaced: boolean): Promise<void> {
    if (this.#service) {
      if (isReplaced) {
        // Else a connection with a stream would wait for the time to end.
        this.#service.endStreams()
        await Promise.race([this.giveBack(), wait(longestAnswerMs)])
      }
      this.#events?.stop()
      await this.#service.service.close()
      await Promise.all(this.#sending)
    }
    process.stdout.write('', () => process.exit(0))
  }

  #noteFile(path: string, hash: string | null): void {
    if (this.#isLoaded) report({ kind: 'files', files: [[path, hash]] })
    else this.#files.push([path, hash])
  }

  #takeFiles(): FileHashes {
    this.#isLoaded = true
    return this.#files.splice(0)
  }

  async #failed(error: unknown, isPassing: boolean): Promise<void> {
    const text = (await failureOf(error))?.message ?? describeCrash(error)
    report({ kind: 'failed', files: this.#takeFiles(), text, isPassing })
  }

  async #renewClient(project: Project): Promise<void> {
    const file = this.#client
    if (file === undefined) return
    const { renewClient } = await import('../cli/commands/generate.ts')
    try {
      if (renewClient(file, project))
        report({ kind: 'note', text: `${file} written: the types of the client.` })
    } catch (error) {
      report({ kind: 'note', text: (await failureOf(error))?.message ?? describeCrash(error) })
    }
  }

  /** Waits for a yes where steps do more than add. Returns what the start itself will do. */
  async #migrate({ model, settings }: Project): Promise<readonly string[]> {
    const migration = await migrationOf(model, settings)
    let shown: string | undefined
    for (;;) {
      const steps = await migration.plan()
      if (!steps.some(isMigration)) return steps.filter(step => !step.isQuiet).map(step => step.sentence)
      const message = migrationMessage(steps)
      const text = JSON.stringify(message)
      if (text !== shown) report(message)
      shown = text
      const isPermitted = await Promise.race([this.#permission.promise, wait(migrationPollMs, false)])
      if (!isPermitted) continue
      await migration.apply({ allowDestructive: true })
      return []
    }
  }

  async #serve({ model, settings }: Project): Promise<OpenService> {
    const log = createLog(settings, output)
    const opened = await open(model, settings, log, {
      listen: 'elsewhere',
      ownProcess: true,
      explainsRefusals: ({ headers, req: { socket } }) =>
        isOfDeveloper({ headers, peer: socket.remoteAddress, local: socket.localAddress }, settings.baseUrl),
      onMail: (message, isSent) => report({ kind: 'mail', mail: { ...message, isSent, at: Date.now() } }),
      ownPages: createMailPages({
        mailbox: this.#mailbox,
        catalogue: await loadMailTemplates(settings),
        theme: themeOf(settings),
        delivers: settings['mail.smtp'] !== undefined,
        baseUrl: settings.baseUrl,
        isShared: this.#areMailsShared,
      }),
    })
    this.#service = opened
    this.#events = new EventLines(model, opened.feed, log.logger)
    await this.#events.start()
    return opened
  }
}

const serving = new ServingProcess()

function receive(message: ToServing, socket?: Socket): void {
  if (message.kind === 'load') void serving.load(message.version, message.sources)
  else if (message.kind === 'open') void serving.open(message.port)
  else if (message.kind === 'migrate') serving.permit()
  else if (message.kind === 'give-back') void serving.giveBack()
  else if (message.kind === 'keep') serving.keep()
  else if (message.kind === 'mails') serving.show(message.mails)
  else if (message.kind === 'stop') void serving.stop(message.isReplaced)
  // The client may be gone already.
  else if (socket) serving.accept(socket)
}

process.on('message', receive)
process.on('disconnect', () => void serving.stop(false))
// Ctrl-C reaches the whole process group: the supervisor says when to stop.
process.on('SIGINT', () => {})
process.on('uncaughtException', error => {
  process.stderr.write(`${describeCrash(error)}\n`, () => process.exit(1))
})
