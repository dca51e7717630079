/** One WebSocket connection, from its first message to its last. */
import { CloseCode } from 'graphql-ws'
import type { RawData, WebSocket } from 'ws'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import type { Client, Clients, CredentialHeaders, Identify } from './clients.ts'
import type { Bound } from './engine.ts'
import type { Sink } from './member.ts'
import { credentialOf, type Message, parseMessage, pong } from './messages.ts'
import {
  type Account,
  executeOperation,
  type OperationParts,
  readyOperation,
  subscriptionKey,
} from './operation.ts'
import type { Quota } from './quota.ts'
import { refusalOf } from './refusal.ts'
import { type GraphqlRequest, requestOf } from './request.ts'
import type { Hub, Subscription } from './subscriptions.ts'

export interface ConnectionParts extends OperationParts {
  readonly hub: Hub
  readonly clients: Clients
  readonly quota: Quota
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
}

/** An operation that runs. */
interface Running {
  readonly id: string
  /** Of a subscription, once it has begun. */
  subscription: Subscription | undefined
}

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

  constructor(parts: ConnectionParts, socket: WebSocket, { address, credential, principal }: Peer) {
    this.#parts = parts
    this.#socket = socket
    this.address = address
    this.credential = credential
    this.principal = principal
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('pong', () => {
      this.#alive = true
    })
    // What is wrong with a frame, `ws` tells the client itself by its close code.
    socket.on('error', () => {})
  }

  get isReady(): boolean {
    return this.#state === 'ready' || this.#state === 'over'
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
    setTimeout(() => this.#socket.terminate(), patience).unref()
  }

  /** The socket is closed. */
  closed(): void {
    this.#leave()
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
        return void this.#send(message.payload === undefined ? '{"type":"pong"}' : pong(message.payload))
      case 'pong':
        return
      case 'subscribe':
        return void this.#subscribe(message)
      case 'complete':
        return void this.#stop(message.id)
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
    this.principal = principal
    this.#state = 'ready'
    this.#parts.clients.add(this)
    this.#send('{"type":"connection_ack"}')
  }

  #reject(error: unknown): void {
    if (this.#state === 'over') return
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
    const request = requestOf(payload)
    const ready = readyOperation(parts, request, account)
    const bound = ready instanceof Promise ? await ready : ready
    if (bound.prepared.operation === 'subscription') return this.#listen(running, bound, request)
    if (!this.#isRunning(running)) return
    const made = executeOperation(parts, bound, account)
    const { text } = made instanceof Promise ? await made : made
    if (!this.#forget(running)) return
    const id = JSON.stringify(running.id)
    this.#send(`{"id":${id},"type":"next","payload":${text}}`)
    this.#send(`{"id":${id},"type":"complete"}`)
  }

  async #listen(running: Running, bound: Bound, request: GraphqlRequest): Promise<void> {
    const { hub, figures } = this.#parts
    const { principal } = this
    const over = this.#count()
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
      const opened = await hub.subscribe(bound, subscriptionKey(request), principal, sink)
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
  #count(): () => void {
    const { quota, figures } = this.#parts
    const { budgetKey } = this.principal
    quota.take(budgetKey)
    figures.subscriptions++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      quota.give(budgetKey)
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
    if (!running) return
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
