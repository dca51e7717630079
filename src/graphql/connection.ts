/** One WebSocket connection, from its first message to its last. */
import { CloseCode } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import type { Client, Clients, CredentialHeaders, Identify } from './clients.ts'
import type { Bound } from './engine.ts'
import type { Sink } from './member.ts'
import { credentialOf, type Message, parseMessage, pong } from './messages.ts'
import { type Account, executeOperation, type OperationParts, readyOperation } from './operation.ts'
import type { ConnectionQuota, Release, SubscriptionQuota } from './quota.ts'
import { refusalOf } from './refusal.ts'
import { requestOf } from './request.ts'
import type { Hub, Subscription } from './subscriptions.ts'

export interface ConnectionParts extends OperationParts {
  readonly hub: Hub
  readonly clients: Clients
  readonly quota: SubscriptionQuota
  readonly connectionQuota: ConnectionQuota
  readonly identify: Identify
  /** An account that is drawn from outside of an HTTP exchange. */
  readonly accountOf: (principal: Principal, credential: CredentialHeaders | undefined) => Account
  /** Operations at once on one connection, and bytes that may wait to be sent on it. */
  readonly maxOperations: number
  readonly maxBuffered: number
}

export interface Peer {
  readonly address: string
  readonly credential: CredentialHeaders | undefined
  readonly principal: Principal
  /** Gives back what the connection counts as, for this principal. */
  readonly release: Release
}

/** An operation that runs. */
interface Running {
  readonly id: string
  /** Of a subscription, once it has begun. */
  subscription: Subscription | undefined
}

/** Messages and frames that begin no operation: so many in a minute are free, each beyond draws a request. */
const FREE_MESSAGES = 60
const MINUTE = 60_000

/** RFC 6455 has no code for it: 1013, try again later. */
const TRY_AGAIN_LATER = 1013
/** How long a slow reader may take to read why it was dropped, in milliseconds. */
const FAREWELL = 5_000

/** A close frame has room for 123 bytes of reason (RFC 6455, 5.5.1), and `ws` throws on more. */
function shortened(reason: string): Buffer {
  const room = Buffer.alloc(123)
  return room.subarray(0, new TextEncoder().encodeInto(reason, room).written)
}

export class Connection implements Client {
  readonly since = performance.now()
  readonly address: string
  credential: CredentialHeaders | undefined
  principal: Principal
  readonly #parts: ConnectionParts
  readonly #socket: WebSocket
  #state: 'new' | 'identifying' | 'ready' | 'over' = 'new'
  #alive = true
  #running: Map<string, Running> | undefined
  #release: Release
  #messages = 0
  /** Since when they are counted. */
  #minute = performance.now()

  constructor(parts: ConnectionParts, socket: WebSocket, { address, credential, principal, release }: Peer) {
    this.#parts = parts
    this.#socket = socket
    this.address = address
    this.credential = credential
    this.principal = principal
    this.#release = release
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('pong', () => {
      this.#alive = true
      this.#count(() => {})
    })
    // Answered by `ws`.
    socket.on('ping', () => this.#count(() => {}))
    // What is wrong with a frame, `ws` tells the client itself by its close code.
    socket.on('error', () => {})
  }

  get isReady(): boolean {
    return this.#state === 'ready' || this.#state === 'over'
  }

  /** Whether nothing runs on it. */
  get isIdle(): boolean {
    return this.#state !== 'over' && (this.#running?.size ?? 0) === 0
  }

  /** A ping; whoever did not answer the last one has gone. */
  beat(): void {
    if (!this.#alive) return void this.#socket.terminate()
    this.#alive = false
    this.#socket.ping()
  }

  become(principal: Principal): void {
    this.principal = principal
    for (const { subscription } of [...(this.#running?.values() ?? [])]) subscription?.as(principal)
  }

  refuse(error: ApiError): void {
    this.end(CloseCode.Forbidden, error.message)
  }

  end(code: number, reason: string): void {
    this.#leave()
    this.#socket.close(code, shortened(reason))
  }

  /** Ends, and cuts off whoever takes longer than so many milliseconds to notice. */
  leave(code: number, reason: string, patience: number): void {
    this.end(code, reason)
    if (patience === 0) this.#socket.terminate()
    else setTimeout(() => this.#socket.terminate(), patience).unref()
  }

  /** Ends at once: others need the connection. */
  giveWay(): void {
    this.leave(TRY_AGAIN_LATER, 'Idle, and others need the connection', 0)
  }

  /** The socket is closed. */
  closed(): void {
    this.#leave()
    this.#release()
  }

  #leave(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#parts.clients.remove(this)
    for (const { subscription } of this.#running?.values() ?? []) subscription?.close()
    this.#running = undefined
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#state === 'over') return
    this.#alive = true
    const message = isBinary ? undefined : parseMessage(String(data))
    if (message === undefined) return void this.end(CloseCode.BadRequest, 'Invalid message received')
    switch (message.type) {
      case 'connection_init':
        return void this.#init(message.payload)
      case 'ping':
        return void this.#count(() =>
          this.#send(message.payload === undefined ? '{"type":"pong"}' : pong(message.payload)),
        )
      case 'pong':
        return void this.#count(() => {})
      case 'subscribe':
        return void this.#subscribe(message)
      case 'complete':
        return void this.#stop(message.id)
    }
  }

  /** Of a message that begins nothing: `act` follows, unless the caller has sent too many. */
  #count(act: () => void): void {
    if (this.#state === 'over') return
    const now = performance.now()
    if (now - this.#minute > MINUTE) {
      this.#minute = now
      this.#messages = 0
    }
    if (++this.#messages <= FREE_MESSAGES) return void act()
    try {
      const drawn = this.#parts.accountOf(this.principal, this.credential).draw(1)
      if (drawn instanceof Promise) drawn.then(act).catch(error => this.#reject(error))
      else act()
    } catch (error) {
      this.#reject(error)
    }
  }

  #init(payload: unknown): void {
    if (this.#state !== 'new') {
      return void this.end(CloseCode.TooManyInitialisationRequests, 'Too many initialisation requests')
    }
    this.#state = 'identifying'
    try {
      const given = credentialOf(payload)
      if (given && this.credential) throw new ApiError('BAD_REQUEST', 'Send one credential, not two.')
      this.credential ??= given
      const known = given ? this.#parts.identify(given, this.address) : this.principal
      if (known instanceof Promise) {
        known.then(
          later => this.#acknowledge(later),
          error => this.#reject(error),
        )
      } else this.#acknowledge(known)
    } catch (error) {
      this.#reject(error)
    }
  }

  #acknowledge(principal: Principal): void {
    if (this.#state === 'over') return
    try {
      this.#countFor(principal)
    } catch (error) {
      return void this.#reject(error)
    }
    this.principal = principal
    this.#state = 'ready'
    this.#parts.clients.add(this)
    this.#send('{"type":"connection_ack"}')
  }

  /** From now on the connection is one of this caller's, and no longer one of the address. */
  #countFor(principal: Principal): void {
    if (principal.budgetKey === this.principal.budgetKey) return
    const release = this.#parts.connectionQuota.take(principal)
    this.#release()
    this.#release = release
  }

  #reject(error: unknown): void {
    if (this.#state === 'over') return
    if (error instanceof ApiError && error.code === 'RATE_LIMITED') {
      return void this.end(TRY_AGAIN_LATER, error.message)
    }
    const known = error instanceof ApiError && error.status < 500
    if (!known) this.#parts.onFault(error)
    if (!known) this.end(CloseCode.InternalServerError, 'Internal error')
    else this.end(error.code === 'BAD_REQUEST' ? CloseCode.BadRequest : CloseCode.Forbidden, error.message)
  }

  #subscribe({ id, payload }: Message): void {
    if (this.#state !== 'ready') return void this.end(CloseCode.Unauthorized, 'Unauthorized')
    this.#running ??= new Map()
    if (this.#running.has(id)) {
      return void this.end(CloseCode.SubscriberAlreadyExists, `Subscriber for ${id} already exists`)
    }
    const running: Running = { id, subscription: undefined }
    this.#running.set(id, running)
    this.#run(running, payload).catch(error => this.#fail(running, error))
  }

  /** Nothing of the operation was executed, or we failed. */
  #fail(running: Running, error: unknown): void {
    if (!this.#forget(running)) return
    const { errors, status } = refusalOf(error)
    if (status >= 500) this.#parts.onFault(error)
    else this.#parts.figures.refused++
    this.#sendErrors(running.id, JSON.stringify(errors))
  }

  async #run(running: Running, payload: unknown): Promise<void> {
    const parts = this.#parts
    const account = parts.accountOf(this.principal, this.credential)
    const drawn = account.draw(1)
    if (drawn instanceof Promise) await drawn
    if ((this.#running?.size ?? 0) > parts.maxOperations) {
      throw new ApiError(
        'RATE_LIMITED',
        `A connection may have ${parts.maxOperations} operations at once: complete one first.`,
      )
    }
    const ready = readyOperation(parts, requestOf(payload), account)
    const bound = ready instanceof Promise ? await ready : ready
    if (bound.prepared.operation === 'subscription') return this.#listen(running, bound)
    if (!this.#isRunning(running)) return
    const made = executeOperation(parts, bound, account)
    const { text } = made instanceof Promise ? await made : made
    if (!this.#forget(running)) return
    const id = JSON.stringify(running.id)
    this.#send(`{"id":${id},"type":"next","payload":${text}}`)
    this.#send(`{"id":${id},"type":"complete"}`)
  }

  async #listen(running: Running, bound: Bound): Promise<void> {
    const { hub, figures } = this.#parts
    const { principal } = this
    const over = this.#open(bound)
    const id = JSON.stringify(running.id)
    const before = `{"id":${id},"type":"next","payload":`
    const sink: Sink = {
      next: text => {
        figures.events++
        this.#send(`${before}${text}}`)
      },
      end: text => {
        over()
        if (!this.#forget(running)) return
        if (text === undefined) this.#send(`{"id":${id},"type":"complete"}`)
        else this.#sendErrors(running.id, JSON.stringify(JSON.parse(text).errors))
      },
    }
    try {
      const opened = await hub.subscribe(bound, principal, sink)
      const close = () => {
        over()
        opened.close()
      }
      if (!this.#isRunning(running)) return close()
      running.subscription = { as: other => opened.as(other), close }
      // The credential may have got other rights meanwhile.
      if (this.principal !== principal) opened.as(this.principal)
    } catch (error) {
      over()
      throw error
    }
  }

  /** Counts a subscription as open, until what is returned is called. */
  #open(bound: Bound): Release {
    const { quota, figures } = this.#parts
    const release = quota.take(this.principal, bound)
    figures.subscriptions++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      release()
      figures.subscriptions--
    }
  }

  #isRunning(running: Running): boolean {
    return this.#running?.get(running.id) === running
  }

  /** Returns whether it was running. */
  #forget(running: Running): boolean {
    return this.#isRunning(running) && this.#running?.delete(running.id) === true
  }

  #stop(id: string): void {
    const running = this.#running?.get(id)
    if (!running) return void this.#count(() => {})
    this.#forget(running)
    running.subscription?.close()
  }

  #sendErrors(id: string, errors: string): void {
    this.#send(`{"id":${JSON.stringify(id)},"type":"error","payload":${errors}}`)
  }

  #send(text: string): void {
    if (this.#state === 'over') return
    this.#socket.send(text)
    if (this.#socket.bufferedAmount > this.#parts.maxBuffered) this.#drop()
  }

  /** Memory must not grow with a client that does not read. */
  #drop(): void {
    this.#parts.figures.slowReaders++
    const reason = `Too slow: more than ${this.#parts.maxBuffered} bytes were waiting`
    this.leave(TRY_AGAIN_LATER, reason, FAREWELL)
  }
}
