/** Starts one version of the model: from its files to a process that is ready to serve. */
import { misfitNotice } from '../cli/commands/migrate.ts'
import type { FileHashes, ModuleTexts, VersionOptions } from './messages.ts'
import { ProcessEnded, type ServingProcess, type ServingReply } from './serving-process.ts'
import type { Terminal } from './terminal.ts'

type ReplyOf<Kind extends ServingReply['kind']> = Extract<ServingReply, { readonly kind: Kind }>

export interface VersionParts {
  readonly process: ServingProcess
  readonly version: VersionOptions
  /** See `ToServing`. */
  readonly sources: ModuleTexts | undefined
  /** Aborted when the files change: a version that still waits is abandoned. */
  readonly signal: AbortSignal
  readonly terminal: Terminal
  /** Whether migrations that do more than add are applied without a confirmation. */
  readonly assumesYes: boolean
  /** Whether another version serves meanwhile. */
  readonly isServing: boolean
  /** `isComplete`: the model was loaded, so these are all of its files. */
  readonly onFiles: (files: FileHashes, isComplete: boolean) => void
  /** Returns the port. */
  readonly listen: (host: string, port: number) => Promise<number>
  /** Called before a migration that the serving version does not expect: lets its requests finish. */
  readonly beforeMigration: () => Promise<void>
}

export type VersionOutcome =
  | { readonly kind: 'ready'; readonly ready: ReplyOf<'ready'>; readonly model: string }
  /** `isTransient`: a retry without a change may succeed. */
  | { readonly kind: 'failed'; readonly text: string; readonly isTransient: boolean }
  | { readonly kind: 'abandoned' }

const abandoned = { kind: 'abandoned' } as const

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
}

/** Rejects if it cannot listen, and with defects. */
export async function startVersion(parts: VersionParts): Promise<VersionOutcome> {
  const { process, version, sources, signal, onFiles, listen } = parts
  let isOpening = false
  try {
    process.send({ kind: 'load', version, sources })
    const loaded = await Promise.race([process.reply(), aborted(signal)])
    if (loaded === undefined) return abandoned
    if (loaded.kind === 'failed') onFiles(loaded.files, false)
    if (loaded.kind !== 'loaded') return failedBy(loaded)
    onFiles(loaded.files, true)
    const port = await listen(loaded.host, loaded.port)
    isOpening = true
    process.send({ kind: 'open', port })
    const reply = await untilReady(parts)
    if (reply === undefined) return abandoned
    return reply.kind === 'ready' ? { kind: 'ready', ready: reply, model: loaded.model } : failedBy(reply)
  } catch (error) {
    if (!(error instanceof ProcessEnded)) throw error
    const when = isOpening ? 'while it opened the database' : 'while it loaded the model'
    return { kind: 'failed', text: `The process ended ${when} (${error.message}).`, isTransient: isOpening }
  }
}

function failedBy(reply: ServingReply): VersionOutcome {
  if (reply.kind !== 'failed') throw new TypeError(`unexpected reply: ${reply.kind}`)
  return { kind: 'failed', text: reply.text, isTransient: reply.isTransient }
}

/** Confirms migrations until the process is ready. Returns undefined if the files change while a migration waits. */
async function untilReady(parts: VersionParts): Promise<ServingReply | undefined> {
  const { process, signal, beforeMigration } = parts
  let next = process.reply()
  for (;;) {
    // A version that waits for no confirmation is not abandoned: its process may already be writing.
    const reply = await next
    if (reply.kind !== 'migration') return reply
    next = process.reply()
    // The process may end before the reply is awaited.
    next.catch(() => {})
    if (await isConfirmed(parts, reply, next)) {
      await beforeMigration()
      process.send({ kind: 'migrate' })
      return afterMigration(process, next)
    }
    // `portico migrate` may apply it in another terminal, or a change of the files may make it unnecessary.
    if ((await Promise.race([next, aborted(signal)])) === undefined) return undefined
  }
}

/** A check of the database that was already running may report the plan once more. */
async function afterMigration(process: ServingProcess, first: Promise<ServingReply>): Promise<ServingReply> {
  let reply = await first
  while (reply.kind === 'migration') reply = await process.reply()
  return reply
}

/** The consequence of a fault while an earlier version serves. */
export const lastGoodNotice = 'The last good model keeps serving.'

const recheckNotice =
  'The plan is checked again when a file changes, or when `portico migrate` has changed the database.'

async function isConfirmed(
  { terminal, assumesYes, isServing, signal }: VersionParts,
  { text, losesData, dataFits, mayRename }: ReplyOf<'migration'>,
  next: Promise<ServingReply>,
): Promise<boolean> {
  const hint = mayRename
    ? "\nIf something was only renamed, declare that in the model: `renamedFrom: 'old_name'` keeps the data.\n"
    : ''
  const warning = losesData ? '; steps marked ! lose data' : ''
  const plan = `The model changes the database${warning}:\n${text}${hint}`
  const outlook = `${isServing ? `${lastGoodNotice} ` : ''}${recheckNotice}`
  if (!dataFits) {
    terminal.fault(plan, `${misfitNotice} ${outlook}`)
    return false
  }
  if (assumesYes) {
    terminal.text(`${plan}\nApplied because of --yes.`)
    return true
  }
  if (!terminal.canAsk) {
    terminal.fault(
      plan,
      `Nothing was changed: run \`portico migrate ${losesData ? '--apply --allow-destructive' : '--apply'}\`, or start with --yes. ${outlook}`,
    )
    return false
  }
  terminal.text(plan)
  const replied = new AbortController()
  next.then(
    () => replied.abort(),
    () => replied.abort(),
  )
  const answer = await terminal.ask('Apply it?', AbortSignal.any([signal, replied.signal]))
  if (answer === false) terminal.note(`Nothing was changed. ${outlook}`)
  return answer === true
}
