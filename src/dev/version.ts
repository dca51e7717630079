/** One version of the model on its way from the files to a process that is ready to serve. */
import type { FileHashes, Sources, VersionOptions } from './messages.ts'
import { ProcessEnded, type Reply, type ServingProcess } from './serving-process.ts'
import type { Terminal } from './terminal.ts'

type ReplyOf<Kind extends Reply['kind']> = Extract<Reply, { readonly kind: Kind }>

export interface VersionParts {
  readonly process: ServingProcess
  readonly version: VersionOptions
  /** See `ToServing`. */
  readonly sources: Sources | undefined
  /** Aborted when the files change: what still waits is given up. */
  readonly signal: AbortSignal
  readonly terminal: Terminal
  /** Migrations that do more than add are applied unasked. */
  readonly isYes: boolean
  /** Whether another version serves meanwhile. */
  readonly isServing: boolean
  /** `isWhole`: the model could be loaded, so that these are all files. */
  readonly onFiles: (files: FileHashes, isWhole: boolean) => void
  /** Returns the port. */
  readonly listen: (host: string, port: number) => Promise<number>
  /** Before a migration that the version which serves does not expect: lets its requests end. */
  readonly beforeMigration: () => Promise<void>
}

export type Outcome =
  | { readonly kind: 'ready'; readonly ready: ReplyOf<'ready'>; readonly model: string }
  /** `isPassing`: the same may succeed later without a change. */
  | { readonly kind: 'failed'; readonly text: string; readonly isPassing: boolean }
  | { readonly kind: 'abandoned' }

const abandoned = { kind: 'abandoned' } as const

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined), { once: true }))
}

/** Rejects where the port is taken, and with defects. */
export async function startVersion(parts: VersionParts): Promise<Outcome> {
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
    const when = isOpening ? 'when it opened the database' : 'while it loaded the model'
    return { kind: 'failed', text: `The process ended ${when} (${error.message}).`, isPassing: isOpening }
  }
}

function failedBy(reply: Reply): Outcome {
  if (reply.kind !== 'failed') throw new TypeError(`unexpected reply: ${reply.kind}`)
  return { kind: 'failed', text: reply.text, isPassing: reply.isPassing }
}

/** Asks for what a migration needs. Undefined where a change comes while it waits. */
async function untilReady(parts: VersionParts): Promise<Reply | undefined> {
  const { process, signal, beforeMigration } = parts
  let next = process.reply()
  for (;;) {
    // Once nobody is asked it is not given up any more: it may be writing already.
    const reply = await next
    if (reply.kind !== 'migration') return reply
    next = process.reply()
    if (await isAllowed(parts, reply, next)) {
      await beforeMigration()
      process.send({ kind: 'migrate' })
      return afterMigration(process, next)
    }
    // `portico migrate` in another terminal may do it, or the next change makes it unnecessary.
    if ((await Promise.race([next, aborted(signal)])) === undefined) return undefined
  }
}

/** A look at the database that was under way may report the plan once more. */
async function afterMigration(process: ServingProcess, first: Promise<Reply>): Promise<Reply> {
  let reply = await first
  while (reply.kind === 'migration') reply = await process.reply()
  return reply
}

const whenAgain =
  'The plan is looked at again when a file changes, or when `portico migrate` has changed the database.'

async function isAllowed(
  { terminal, isYes, isServing, signal }: VersionParts,
  { text, isFitting, mayRename }: ReplyOf<'migration'>,
  next: Promise<Reply>,
): Promise<boolean> {
  const hint = mayRename
    ? "\nIf something only got another name, say so in the model: `renamedFrom: 'old_name'` keeps the data.\n"
    : ''
  const plan = `The model changes the database; steps marked ! lose data:\n${text}${hint}`
  const anew = `${isServing ? 'The last good model serves on. ' : ''}${whenAgain}`
  if (!isFitting) {
    terminal.fault(plan, `The data does not fit where a line is marked x: mend that first. ${anew}`)
    return false
  }
  if (isYes) {
    terminal.text(`${plan}\nApplied, as --yes says.`)
    return true
  }
  if (!terminal.canAsk) {
    terminal.fault(
      plan,
      `Nothing is done: run \`portico migrate --apply --allow-destructive\`, or start with --yes. ${anew}`,
    )
    return false
  }
  terminal.text(plan)
  const answered = new AbortController()
  next.then(
    () => answered.abort(),
    () => answered.abort(),
  )
  const answer = await terminal.ask('Apply it?', AbortSignal.any([signal, answered.signal]))
  if (answer === false) terminal.note(`Nothing is done. ${anew}`)
  return answer === true
}
