/** The log: JSON lines on standard output. No credential ever gets into it. */
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Settings } from './config.ts'
import { LineOutput } from './log/output.ts'
import { isProbe } from './probes.ts'

export type { Logger } from 'pino'

/** What looks like one of our keys or client secrets, wherever it stands. */
const keys = /(pk)_[A-Za-z0-9]{6,}|(ps)_[A-Za-z0-9_-]{43}/g
/** What follows the scheme of an Authorization header. */
const tokens = /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]+/gi
/** Query parameters that are credentials by their name. */
const parameters = /\b(api_key|access_token|refresh_token|client_secret|password)=[^&\s"\\]*/gi

const HIDDEN = '[hidden]'

/** `text` without anything that looks like a credential. */
export function redact(text: string): string {
  return text
    .replace(keys, `$1$2_${HIDDEN}`)
    .replace(tokens, `$1 ${HIDDEN}`)
    .replace(parameters, `$1=${HIDDEN}`)
}

const secretFields = ['password', 'password_hash', 'key', 'hash', 'token', 'authorization', 'api_key']
const paths = ['', '*.', '*.*.', '*.*.*.'].flatMap(depth => [
  ...secretFields.map(field => depth + field),
  `${depth}["x-api-key"]`,
])

/** One answered request. */
export interface Answered {
  readonly method: string
  readonly path: string
  readonly requestId: string
  readonly userId: number | null
}

export interface Log {
  readonly logger: Logger
  /**
   * One line for a request, at level `info`; at `debug` for probes that went well. `bytes` of the answer's body;
   * undefined where it is streamed.
   */
  access(request: Answered, status: number, milliseconds: number, bytes: number | undefined): void
  /** Adds whole lines that another thread has made. */
  write(lines: string): void
  /** Writes out what waits, at the end. */
  flush(): void
}

const DEBUG = 20
const INFO = 30
const MAX_PATH = 2000
/** What `redact` looks for begins so, or may be written with escapes. */
const mayHoldSecret = /p[ks]_|[=%]/
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** JSON of a text, cheap for the texts that need no escape. */
function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** The same line that pino would write, put together by hand: a tenth of the time on the hot path. */
function accessLine(
  level: number,
  { method, path, requestId, userId }: Answered,
  status: number,
  milliseconds: number,
  bytes: number | undefined,
): string {
  const shown = mayHoldSecret.test(path) ? redact(path) : path
  const who = userId === null ? '' : `,"user_id":${userId}`
  const size = bytes === undefined ? '' : `,"bytes":${bytes}`
  return (
    `{"level":${level},"time":${Date.now()},"request_id":"${requestId}","method":${quoted(method)},` +
    `"path":${quoted(shown.slice(0, MAX_PATH))},"status":${status},` +
    `"ms":${Math.round(milliseconds * 100) / 100}${who}${size},"msg":"request"}\n`
  )
}

interface BlockOutput extends DestinationStream {
  /** Writes out what waits, before it returns. */
  flushSync(): void
}

const BLOCK = 32_768
/** No line waits longer, in milliseconds. */
const LONGEST_WAIT = 250

/** Lines as blocks: the destination measures all that waits at each write, and each of its own is a system call. */
function inBlocks(destination: BlockOutput): BlockOutput {
  let block = ''
  let timer: NodeJS.Timeout | undefined
  const pass = () => {
    clearTimeout(timer)
    timer = undefined
    const full = block
    block = ''
    if (full !== '') destination.write(full)
  }
  return {
    write(line) {
      block += line
      if (block.length >= BLOCK) pass()
      else timer ??= setTimeout(pass, LONGEST_WAIT).unref()
    },
    flushSync() {
      pass()
      destination.flushSync()
    },
  }
}

/** What waits when the process ends. */
const open = new Set<BlockOutput>()
let isWatched = false

function flushAtExit(): void {
  if (isWatched) return
  isWatched = true
  process.once('exit', () => open.forEach(output => void output.flushSync()))
}

function standardOutput(): BlockOutput {
  flushAtExit()
  const output = inBlocks(new LineOutput(1))
  open.add(output)
  return output
}

function serializeError(error: unknown): unknown {
  const made = pino.stdSerializers.err(error as Error)
  return { type: made.type, message: redact(made.message ?? ''), stack: redact(made.stack ?? '') }
}

/** Without `output`, standard output, written in blocks. */
export function createLog({ logLevel }: Pick<Settings, 'logLevel'>, output?: DestinationStream): Log {
  const buffered = output ? undefined : standardOutput()
  const destination = output ?? (buffered as DestinationStream)
  const logger = pino(
    {
      level: logLevel,
      base: null,
      redact: { paths, censor: HIDDEN },
      serializers: { err: serializeError },
      hooks: { streamWrite: line => (line.includes('pk_') || line.includes('ps_') ? redact(line) : line) },
    },
    destination,
  )
  const writes = logger.isLevelEnabled('info')
  const writesProbes = logger.isLevelEnabled('debug')
  return {
    logger,
    access(request, status, milliseconds, bytes) {
      if (!writes) return
      const { path } = request
      // Whoever asks for a probe asks every second or so, and would bury the rest.
      const isQuiet = status < 400 && isProbe(path)
      if (isQuiet && !writesProbes) return
      destination.write(accessLine(isQuiet ? DEBUG : INFO, request, status, milliseconds, bytes))
    },
    write: lines => void destination.write(lines),
    flush() {
      buffered?.flushSync()
      if (buffered) open.delete(buffered)
    },
  }
}
