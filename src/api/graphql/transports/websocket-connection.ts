/** One WebSocket connection, from its first message to its last. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CloseCode } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Release } from '../../../base/quota.ts'
import type {
  ConnectedClient,
  CredentialHeaders,
  CredentialMonitor,
  Identify,
} from '../../events/credential-monitor.ts'
import type { ConnectionQuota } from '../../events/quota.ts'
import { closeCodeOf, reasonBytes, tryAgainLater } from './websocket-close.ts'
import {
  ackMessage,
  credentialOf,
  type ProtocolMessage,
  parseMessage,
  pongMessage,
} from './websocket-messages.ts'
import { type Peer, RunningOperations, type RunningParts } from './websocket-operations.ts'

export interface ConnectionParts extends RunningParts {
  readonly credentials: CredentialMonitor
  readonly connectionQuota: ConnectionQuota
  readonly identify: Identify
  /** Bytes that may wait to be sent on one connection. */
  readonly maxBufferedBytes: number
}

/** The client that has connected. */
export interface Caller {
  readonly address: string
  readonly credential: CredentialHeaders | undefined
  readonly principal: Principal
  /** Releases the caller's share of the connection quota. */
  readonly release: Release
}

/** In each minute, this many messages and frames that start no operation are free. Each further one draws one request. */
const freeMessages = 60
const freeMessagesWindowMs = 60_000

/** How long a slow reader may take to read the close frame. */
const slowReaderCloseTimeoutMs = 5_000

/** How often to check whether a client has read what is buffered for it. */
const drainPollIntervalMs = 10

const noop = () => {}

export class WebSocketConnection implements ConnectedClient, Peer {
  readonly openedAt = performance.now()
  readonly address: string
  credential: CredentialHeaders | undefined
  principal: Principal
  readonly #parts: ConnectionParts
  readonly #socket: WebSocket
  #state: 'new' | 'identifying' | 'ready' | 'ended' = 'new'
  #isAlive = true
  /** Created with the first operation: connections without one stay small. */
  #operations: RunningOperations | undefined
  #release: Release
  #messages = 0
  #countedSince = performance.now()

  constructor(
    parts: ConnectionParts,
    socket: WebSocket,
    { address, credential, principal, release }: Caller,
  ) {
    this.#parts = parts
    this.#socket = socket
    this.address = address
    this.credential = credential
    this.principal = principal
    this.#release = release
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('pong', () => {
      this.#isAlive = true
      this.#count(noop)
    })
    // `ws` itself answers with a pong.
    socket.on('ping', () => this.#count(noop))
    // `ws` itself closes the connection with the code of the protocol error.
    socket.on('error', noop)
  }

  /** Whether the connection no longer waits for `connection_init`. */
  get isInitialised(): boolean {
    return this.#state === 'ready' || this.#state === 'ended'
  }

  /** Whether no operation is running. */
  get isIdle(): boolean {
    return this.#state !== 'ended' && (this.#operations?.size ?? 0) === 0
  }

  /** Sends a ping. Terminates the connection if the last ping was not answered. */
  ping(): void {
    if (!this.#isAlive) return void this.#socket.terminate()
    this.#isAlive = false
    this.#socket.ping()
  }

  changePrincipal(principal: Principal): void {
    this.principal = principal
    this.#operations?.changePrincipal(principal)
  }

  disconnect(error: ApiError): void {
    this.close(CloseCode.Forbidden, error.message)
  }

  close(code: number, reason: string): void {
    this.#end()
    this.#socket.close(code, reasonBytes(reason))
  }

  /** Closes the connection, and terminates it if the client does not answer within the timeout. */
  closeWithin(timeoutMs: number, code: number, reason: string): void {
    this.close(code, reason)
    if (timeoutMs === 0) this.#socket.terminate()
    else setTimeout(() => this.#socket.terminate(), timeoutMs).unref()
  }

  /** Closes an idle connection because others need it. */
  closeIdle(): void {
    this.closeWithin(0, tryAgainLater, 'Closed while idle: other clients need the connection')
  }

  /** The socket has closed. */
  onClosed(): void {
    this.#end()
    this.#release()
  }

  /** `parts`: of one message, sent as fragments (RFC 6455, 5.4), so that bytes that connections share are not copied. */
  send(...parts: readonly (string | Buffer)[]): void {
    if (this.#state === 'ended') return
    // Checked before the message: a client that has read everything is sent any message.
    if (this.#socket.bufferedAmount > this.#parts.maxBufferedBytes) return void this.#dropSlowReader()
    for (const [index, part] of parts.entries())
      this.#socket.send(part, { binary: false, fin: index === parts.length - 1 })
  }

  keptUp(): Promise<void> | undefined {
    return this.#hasKeptUp() ? undefined : this.#waitUntilKeptUp()
  }

  #hasKeptUp(): boolean {
    return this.#state === 'ended' || this.#socket.bufferedAmount * 4 < this.#parts.maxBufferedBytes
  }

  async #waitUntilKeptUp(): Promise<void> {
    while (!this.#hasKeptUp()) await sleep(drainPollIntervalMs, undefined, { ref: false })
  }

  #end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#parts.credentials.remove(this)
    this.#operations?.close()
    this.#operations = undefined
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#state === 'ended') return
    this.#isAlive = true
    const message = isBinary ? undefined : parseMessage(String(data))
    if (message === undefined) return void this.close(CloseCode.BadRequest, 'Invalid message received')
    switch (message.type) {
      case 'connection_init':
        return void this.#init(message.payload)
      case 'ping':
        return void this.#count(() => this.send(pongMessage(message.payload)))
      case 'pong':
        return void this.#count(noop)
      case 'subscribe':
        return void this.#subscribe(message)
      case 'complete':
        if (!this.#operations?.stop(message.id)) this.#count(noop)
    }
  }

  /** Counts a message that starts no operation, then calls `proceed` unless the caller's budget is used up. */
  #count(proceed: () => void): void {
    if (this.#state === 'ended') return
    const now = performance.now()
    if (now - this.#countedSince > freeMessagesWindowMs) {
      this.#countedSince = now
      this.#messages = 0
    }
    if (++this.#messages <= freeMessages) return void proceed()
    try {
      const drawn = this.#parts.accountOf(this.principal, this.credential).draw(1)
      if (drawn instanceof Promise) drawn.then(proceed).catch(error => this.#reject(error))
      else proceed()
    } catch (error) {
      this.#reject(error)
    }
  }

  #init(payload: unknown): void {
    if (this.#state !== 'new') {
      return void this.close(CloseCode.TooManyInitialisationRequests, 'Too many initialisation requests')
    }
    this.#state = 'identifying'
    try {
      const credential = credentialOf(payload)
      // Browsers send cookies automatically: a session counts only if no other credential is sent.
      if (credential && this.credential && this.credential.cookie === undefined) {
        throw new ApiError('BAD_REQUEST', 'Send one credential, not two.')
      }
      this.credential = credential ?? this.credential
      const principal = credential ? this.#parts.identify(credential, this.address) : this.principal
      if (principal instanceof Promise) {
        principal.then(
          identified => this.#acknowledge(identified),
          error => this.#reject(error),
        )
      } else this.#acknowledge(principal)
    } catch (error) {
      this.#reject(error)
    }
  }

  #acknowledge(principal: Principal): void {
    if (this.#state === 'ended') return
    try {
      this.#takeQuotaOf(principal)
    } catch (error) {
      return void this.#reject(error)
    }
    this.principal = principal
    this.#state = 'ready'
    this.#parts.credentials.add(this)
    this.send(ackMessage)
  }

  /** Counts the connection for this caller instead of the address. */
  #takeQuotaOf(principal: Principal): void {
    if (principal.budgetKey === this.principal.budgetKey) return
    const release = this.#parts.connectionQuota.take(principal)
    this.#release()
    this.#release = release
  }

  #reject(error: unknown): void {
    if (this.#state === 'ended') return
    const code = closeCodeOf(error)
    if (code !== undefined) return void this.close(code, (error as ApiError).message)
    this.#parts.onFault(error)
    this.close(CloseCode.InternalServerError, 'Internal error')
  }

  #subscribe(message: ProtocolMessage): void {
    if (this.#state !== 'ready') return void this.close(CloseCode.Unauthorized, 'Unauthorized')
    this.#operations ??= new RunningOperations(this.#parts, this)
    if (this.#operations.start(message)) return
    this.close(CloseCode.SubscriberAlreadyExists, `Subscriber for ${message.id} already exists`)
  }

  /** Memory must not grow for a client that does not read. */
  #dropSlowReader(): void {
    this.#parts.metrics.slowReaders++
    const reason = `Too slow: more than ${this.#parts.maxBufferedBytes} bytes were waiting`
    this.closeWithin(slowReaderCloseTimeoutMs, tryAgainLater, reason)
  }
}
