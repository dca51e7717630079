/**
 * A process that serves one version of the model. Modules cannot be unloaded, so the supervisor starts a process for every
 * version. It is started before it is needed: it loads Portico's modules, and waits for `load`.
 */
import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { loadEnvFile } from '../../base/env-file.ts'
import type { MigrationStep } from '../../engine/store/schema/diff.ts'
import type { Settings } from '../../server/config/config.ts'
import { createLog } from '../../server/observability/log.ts'
import { loadSettings } from '../../server/project/project.ts'
import { describeCrash } from '../../server/project/source/describe.ts'
import { loadMailTemplates } from '../../server/serve/background/mailer.ts'
import { frameOf } from '../../server/serve/oauth/account-pages.ts'
import { open } from '../../server/serve/serve.ts'
import type { OpenService } from '../../server/serve/service.ts'
import { formatSteps, migrationOf } from '../cli/commands/migrate.ts'
import { welcome } from '../cli/commands/start.ts'
import { failureOf } from '../cli/error-message.ts'
import { loadProject, type Project } from '../cli/options.ts'
import { openPath } from './addresses.ts'
import { EventLines } from './event-lines.ts'
import { fileHash, hashesOf, loadSources, projectFiles, recordFiles } from './loaded-files.ts'
import { isFromDeveloper } from './mail/local-request.ts'
import { Mailbox, type StoredMail } from './mail/mailbox.ts'
import { createMailPages } from './mail/routes.ts'
import type { FileHashes, FromServing, ModuleTexts, ToServing, VersionOptions } from './messages.ts'

/** The time for which a replaced process waits for running requests before it closes their connections. Long polls may take longer. */
const handoverMs = 5000
/** The interval at which a migration that waits for a confirmation checks whether `portico migrate` has applied it. */
const migrationPollMs = 1000

/** Unless `HOST` is set, only the developer's machine reaches the service. */
const developmentDefaults = { host: '127.0.0.1' }

/** Writes each line at once; the log of `portico start` collects lines. */
const output = { write: (lines: string) => void process.stdout.write(lines) }

function report(message: FromServing): void {
  process.send?.(message)
}

function isMigration({ additive, faults }: MigrationStep): boolean {
  return !additive || faults !== undefined
}

function migrationMessage(steps: readonly MigrationStep[]): FromServing {
  const parts = steps.flatMap<{ readonly sentence: string }>(step => step.parts ?? [step])
  const has = (verb: string) => parts.some(({ sentence }) => sentence.startsWith(verb))
  return {
    kind: 'migration',
    text: formatSteps(steps, false),
    losesData: steps.some(step => step.destructive),
    dataFits: steps.every(({ faults }) => faults === undefined),
    mayRename: has('Drop the') && (has('Add the') || has('Create the')),
  }
}

/** Resolves once the supervisor has the connection. */
function sendConnection(socket: Socket): Promise<void> {
  const message: FromServing = { kind: 'connection' }
  return new Promise(resolve => {
    process.send?.(message, socket, { keepOpen: false }, () => {
      socket.destroy()
      resolve()
    })
  })
}

function developmentSettings(settings: Settings, port: number): Settings {
  const guides = settings['docs.guides']
  // The developer is the operator too.
  const shownGuides = guides === 'callers' ? 'all' : guides
  // This name is printed, and used in links.
  const host = settings.host === developmentDefaults.host ? 'localhost' : settings.host
  return { ...settings, host, port, autoMigrate: true, workers: 1, 'docs.guides': shownGuides }
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
  /** Each promise resolves when a connection that is given back is sent. */
  readonly #sending: Promise<void>[] = []
  readonly #confirmation = Promise.withResolvers<true>()

  /** `sources`: the modules of an earlier version; undefined: the files as they are now. */
  async load(
    { commandLine, client, areMailsShared }: VersionOptions,
    sources: ModuleTexts | undefined,
  ): Promise<void> {
    this.#client = client
    this.#areMailsShared = areMailsShared
    recordFiles((path, hash) => this.#recordFile(path, hash))
    if (sources) loadSources(sources)
    this.#files.push(...hashesOf(projectFiles(process.cwd())))
    try {
      loadEnvFile()
      const { model: file, 'mail.templates': templates } = await loadSettings(
        commandLine,
        developmentDefaults,
      )
      for (const path of [file, templates])
        if (path !== undefined) this.#recordFile(resolve(path), fileHash(resolve(path)))
      this.#project = await loadProject(commandLine, developmentDefaults)
      const { settings, path: model } = this.#project
      await loadMailTemplates(settings)
      report({ kind: 'loaded', files: this.#takeFiles(), host: settings.host, port: settings.port, model })
    } catch (error) {
      await this.#failed(error, false)
    }
  }

  async open(port: number): Promise<void> {
    if (this.#project === undefined) return
    const project = { ...this.#project, settings: developmentSettings(this.#project.settings, port) }
    try {
      const migrated = await this.#migrate(project)
      const service = await this.#serve(project)
      const { url, firstAdministrator: administrator } = service.service
      const addresses = {
        url,
        openPath: openPath(project.model),
        welcome: administrator && welcome(administrator, project.settings.baseUrl ?? url),
      }
      report({ kind: 'ready', migrated: administrator ? [] : migrated, addresses })
      await this.#updateClient(project)
    } catch (error) {
      await this.#failed(error, true)
    }
  }

  /** Adds mails to the mailbox. */
  addMails(mails: readonly StoredMail[]): void {
    for (const mail of mails) this.#mailbox.put(mail)
  }

  confirm(): void {
    this.#confirmation.resolve(true)
  }

  accept(socket: Socket): void {
    // Node creates the socket in this process without the options with which it was accepted.
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    this.#service?.http.movingConnections().accept(socket)
  }

  async giveBack(): Promise<void> {
    await this.#service?.http
      .movingConnections()
      .transferAll(socket => void this.#sending.push(sendConnection(socket)))
    await Promise.all(this.#sending)
    report({ kind: 'gave-back' })
  }

  keep(): void {
    this.#service?.http.movingConnections().cancelTransfer()
  }

  /** `isReplaced`: another process takes over the connections. */
  async stop(isReplaced: boolean): Promise<void> {
    if (this.#service) {
      if (isReplaced) {
        // A connection with a stream would otherwise be kept until the time limit.
        this.#service.endStreams()
        await Promise.race([this.giveBack(), wait(handoverMs)])
      }
      this.#events?.stop()
      await this.#service.service.close()
      await Promise.all(this.#sending)
    }
    process.stdout.write('', () => process.exit(0))
  }

  #recordFile(path: string, hash: string | null): void {
    if (this.#isLoaded) report({ kind: 'files', files: [[path, hash]] })
    else this.#files.push([path, hash])
  }

  #takeFiles(): FileHashes {
    this.#isLoaded = true
    return this.#files.splice(0)
  }

  async #failed(error: unknown, isTransient: boolean): Promise<void> {
    const text = (await failureOf(error))?.message ?? describeCrash(error)
    report({ kind: 'failed', files: this.#takeFiles(), text, isTransient })
  }

  async #updateClient(project: Project): Promise<void> {
    const file = this.#client
    if (file === undefined) return
    const { updateClient } = await import('../cli/commands/generate.ts')
    try {
      if (updateClient(file, project)) report({ kind: 'note', text: `${file} written: the client’s types.` })
    } catch (error) {
      report({ kind: 'note', text: (await failureOf(error))?.message ?? describeCrash(error) })
    }
  }

  /** Applies steps that do more than add, once they are confirmed. Returns the steps that the start will apply. */
  async #migrate({ model, settings }: Project): Promise<readonly string[]> {
    const migration = await migrationOf(model, settings)
    let reported: string | undefined
    for (;;) {
      const steps = await migration.plan()
      if (!steps.some(isMigration))
        return steps.filter(step => !step.allowsValuesOnly).map(step => step.sentence)
      const message = migrationMessage(steps)
      const text = JSON.stringify(message)
      if (text !== reported) report(message)
      reported = text
      const isConfirmed = await Promise.race([this.#confirmation.promise, wait(migrationPollMs, false)])
      if (!isConfirmed) continue
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
        isFromDeveloper(
          { headers, peer: socket.remoteAddress, local: socket.localAddress },
          settings.baseUrl,
        ),
      onMail: (message, isSent) => report({ kind: 'mail', mail: { ...message, isSent, at: Date.now() } }),
      devPages: createMailPages({
        mailbox: this.#mailbox,
        catalogue: await loadMailTemplates(settings),
        frame: frameOf(settings),
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
  else if (message.kind === 'migrate') serving.confirm()
  else if (message.kind === 'give-back') void serving.giveBack()
  else if (message.kind === 'keep') serving.keep()
  else if (message.kind === 'mails') serving.addMails(message.mails)
  else if (message.kind === 'stop') void serving.stop(message.isReplaced)
  else {
    report({ kind: 'received', id: message.id })
    // Undefined if the client has already disconnected.
    if (socket) serving.accept(socket)
  }
}

process.on('message', receive)
process.on('disconnect', () => void serving.stop(false))
// Ctrl-C reaches the whole process group, but the supervisor decides when to stop.
process.on('SIGINT', () => {})
process.on('uncaughtException', error => {
  process.stderr.write(`${describeCrash(error)}\n`, () => process.exit(1))
})
