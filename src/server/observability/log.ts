/** The log: JSON lines on standard output. No credential ever gets into it. */
import pino, { type DestinationStream, type Logger } from 'pino'
import { isHealthCheck } from '../../base/call.ts'
import type { Settings } from '../config/config.ts'
import { LineOutput } from './log-output.ts'
import { sourceStack } from './source-stack.ts'

export type { DestinationStream, Logger } from 'pino'

/** Anything that looks like a key or client secret of Portico. */
const keys = /(pk)_[A-Za-z0-9]{6,}|(ps)_[A-Za-z0-9_-]{43}/g
/** The credentials in an Authorization header. */
const tokens = /\b(Bearer|Basic|DPoP) +[A-Za-z0-9._~+/=-]+/gi
/** Query parameters whose names say that they are credentials. */
const parameters =
  /\b(api_key|access_token|refresh_token|client_secret|password|portico_session)=[^&;\s"\\]*/gi

const hidden = '[hidden]'

/** `text` without anything that looks like a credential. */
export function redact(text: string): string {
  return text
    .replace(keys, `$1$2_${hidden}`)
    .replace(tokens, `$1 ${hidden}`)
    .replace(parameters, `$1=${hidden}`)
}

const secretFields = [
  'password',
  'password_hash',
  'key',
  'hash',
  'token',
  'authorization',
  'api_key',
  'cookie',
]
const redactedPaths = ['', '*.', '*.*.', '*.*.*.'].flatMap(depth => [
  ...secretFields.map(field => depth + field),
  `${depth}["x-api-key"]`,
])

/** One answered request. */
export interface AnsweredRequest {
  readonly method: string
  readonly path: string
  readonly requestId: string
  readonly userId: number | null
}

export interface Log {
  readonly logger: Logger
  /**
   * Logs a request at level `info`, a successful health check at `debug`. `bytes`: the size of the body; undefined for a
   * stream.
   */
  access(request: AnsweredRequest, status: number, milliseconds: number, bytes: number | undefined): void
  /** Adds whole lines of another thread. */
  write(lines: string): void
  /** Writes all buffered lines, at shutdown. */
  flush(): void
}

const debugLevel = 20
const infoLevel = 30
const maxPathCharacters = 2000
/** Everything that `redact` replaces contains one of these, or may be percent-encoded. */
const mayContainSecret = /p[ks]_|[=%]/
const withoutEscapes = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** The text as JSON; cheap if it needs no escape. */
function quoted(text: string): string {
  return withoutEscapes.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** The line that pino would write, built in a tenth of the time, because every request has one. */
function accessLine(
  level: number,
  { method, path, requestId, userId }: AnsweredRequest,
  status: number,
  milliseconds: number,
  bytes: number | undefined,
): string {
  const redactedPath = mayContainSecret.test(path) ? redact(path) : path
  const userMember = userId === null ? '' : `,"user_id":${userId}`
  const bytesMember = bytes === undefined ? '' : `,"bytes":${bytes}`
  return (
    `{"level":${level},"time":${Date.now()},"request_id":"${requestId}","method":${quoted(method)},` +
    `"path":${quoted(redactedPath.slice(0, maxPathCharacters))},"status":${status},` +
    `"ms":${Math.round(milliseconds * 100) / 100}${userMember}${bytesMember},"msg":"request"}\n`
  )
}

interface BlockOutput extends DestinationStream {
  /** Writes all buffered lines before it returns. */
  flushSync(): void
}

const blockCharacters = 32_768
/** No line is buffered for longer. */
const maxWaitMs = 250

/** Collects lines in blocks: each write to the destination costs a system call. */
function inBlocks(destination: BlockOutput): BlockOutput {
  let block = ''
  let timer: NodeJS.Timeout | undefined
  const writeBlock = () => {
    clearTimeout(timer)
    timer = undefined
    const text = block
    block = ''
    if (text !== '') destination.write(text)
  }
  return {
    write(line) {
      block += line
      if (block.length >= blockCharacters) writeBlock()
      else timer ??= setTimeout(writeBlock, maxWaitMs).unref()
    },
    flushSync() {
      writeBlock()
      destination.flushSync()
    },
  }
}

/** Outputs that are flushed when the process ends. */
const openOutputs = new Set<BlockOutput>()
let hasExitListener = false

function flushAtExit(): void {
  if (hasExitListener) return
  hasExitListener = true
  process.once('exit', () => openOutputs.forEach(output => void output.flushSync()))
}

function standardOutput(): BlockOutput {
  flushAtExit()
  const output = inBlocks(new LineOutput(1))
  openOutputs.add(output)
  return output
}

function serializeError(error: unknown): unknown {
  const { type, message, stack } = pino.stdSerializers.err(error as Error)
  return { type, message: redact(message ?? ''), stack: redact(sourceStack(stack ?? '')) }
}

/** Writes to `output`, or in blocks to standard output. */
export function createLog({ logLevel }: Pick<Settings, 'logLevel'>, output?: DestinationStream): Log {
  const buffered = output ? undefined : standardOutput()
  const destination = output ?? (buffered as DestinationStream)
  const logger = pino(
    {
      level: logLevel,
      base: null,
      redact: { paths: redactedPaths, censor: hidden },
      serializers: { err: serializeError },
      hooks: { streamWrite: line => (line.includes('pk_') || line.includes('ps_') ? redact(line) : line) },
    },
    destination,
  )
  const logsRequests = logger.isLevelEnabled('info')
  const logsHealthChecks = logger.isLevelEnabled('debug')
  return {
    logger,
    access(request, status, milliseconds, bytes) {
      if (!logsRequests) return
      const { path } = request
      // Health checks come every second or so, and would hide other lines.
      const isHealthy = status < 400 && isHealthCheck(path)
      if (isHealthy && !logsHealthChecks) return
      destination.write(accessLine(isHealthy ? debugLevel : infoLevel, request, status, milliseconds, bytes))
    },
    write: lines => void destination.write(lines),
    flush() {
      buffered?.flushSync()
      if (buffered) openOutputs.delete(buffered)
    },
  }
}
