/** The operations that run on one WebSocket connection. */

import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { CredentialHeaders } from '../../events/credential-monitor.ts'
import type { Subscription } from '../../events/hub.ts'
import type { BoundOperation } from '../engine.ts'
import { parseRequest } from '../request.ts'
import { toRequestError } from '../request-error.ts'
import { type Account, executeOperation, type OperationParts, prepareOperation } from './operation.ts'
import { openSubscription, type SubscriptionParts } from './subscription.ts'
import { completeMessage, errorMessage, nextPrefix, type ProtocolMessage } from './websocket-messages.ts'

export interface RunningParts extends OperationParts, SubscriptionParts {
  /** The budget that operations of this caller draw from. */
  readonly accountOf: (principal: Principal, credential: CredentialHeaders | undefined) => Account
  /** Operations that may run on one connection in parallel. */
  readonly maxOperations: number
}

/** The connection, as its operations see it. */
export interface Peer {
  readonly principal: Principal
  readonly credential: CredentialHeaders | undefined
  /** `parts`: of one message. */
  send(...parts: readonly (string | Buffer)[]): void
  /** See `ReplySink`. */
  keptUp(): Promise<void> | undefined
}

interface RunningOperation {
  readonly id: string
  /** The open subscription. Undefined for a query or mutation, and before the subscription is open. */
  subscription: Subscription | undefined
}

export class RunningOperations {
  readonly #parts: RunningParts
  readonly #peer: Peer
  readonly #running = new Map<string, RunningOperation>()
  /** The running operations, and those that the client completed while they were still executed or opened. */
  readonly #counted = new Set<RunningOperation>()

  constructor(parts: RunningParts, peer: Peer) {
    this.#parts = parts
    this.#peer = peer
  }

  /** How many operations count against `maxOperations`. */
  get size(): number {
    return this.#counted.size
  }

  /** Returns false when an operation with this id is running. */
  start({ id, payload }: ProtocolMessage): boolean {
    if (this.#running.has(id)) return false
    const running: RunningOperation = { id, subscription: undefined }
    this.#running.set(id, running)
    this.#counted.add(running)
    this.#run(running, payload)
      .catch(error => this.#fail(running, error))
      .finally(() => {
        if (!this.#isRunning(running)) this.#counted.delete(running)
      })
    return true
  }

  /** Returns false when no operation with this id is running. */
  stop(id: string): boolean {
    const running = this.#running.get(id)
    if (!running) return false
    this.#remove(running)
    running.subscription?.close()
    return true
  }

  /** The rights of the connection's credential have changed. */
  changePrincipal(principal: Principal): void {
    for (const { subscription } of [...this.#running.values()]) subscription?.changePrincipal(principal)
  }

  /** Ends all operations without a message. */
  close(): void {
    const operations = [...this.#running.values()]
    this.#running.clear()
    this.#counted.clear()
    for (const { subscription } of operations) subscription?.close()
  }

  async #run(running: RunningOperation, payload: unknown): Promise<void> {
    const parts = this.#parts
    const account = parts.accountOf(this.#peer.principal, this.#peer.credential)
    const drawn = account.draw(1)
    if (drawn instanceof Promise) await drawn
    if (this.size > parts.maxOperations) {
      throw new ApiError(
        'RATE_LIMITED',
        `A connection may have ${parts.maxOperations} operations at once: complete one first.`,
      )
    }
    const prepared = prepareOperation(parts, parseRequest(payload), account)
    const bound = prepared instanceof Promise ? await prepared : prepared
    if (bound.prepared.operation === 'subscription') return this.#subscribe(running, bound)
    if (!this.#isRunning(running)) return
    const executed = executeOperation(parts, bound, account)
    const { text } = executed instanceof Promise ? await executed : executed
    if (!this.#remove(running)) return
    this.#peer.send(`${nextPrefix(running.id)}${text}}`)
    this.#peer.send(completeMessage(running.id))
  }

  async #subscribe(running: RunningOperation, bound: BoundOperation): Promise<void> {
    const { principal } = this.#peer
    const prefix = nextPrefix(running.id)
    const subscription = await openSubscription(this.#parts, bound, principal, {
      next: ({ chunk }) =>
        typeof chunk === 'string'
          ? this.#peer.send(`${prefix}${chunk}}`)
          : this.#peer.send(prefix, chunk, '}'),
      keptUp: () => this.#peer.keptUp(),
      end: error => this.#end(running, error),
    })
    if (!this.#isRunning(running)) return subscription.close()
    running.subscription = subscription
    // The rights may have changed while the subscription was being opened.
    if (this.#peer.principal !== principal) subscription.changePrincipal(this.#peer.principal)
  }

  /** `error`: undefined when the service stops. */
  #end(running: RunningOperation, error: unknown): void {
    if (!this.#remove(running)) return
    const { id } = running
    this.#peer.send(
      error === undefined ? completeMessage(id) : errorMessage(id, toRequestError(error).errors),
    )
  }

  /** The operation was refused, or its execution failed with an internal fault. */
  #fail(running: RunningOperation, error: unknown): void {
    if (!this.#remove(running)) return
    const { errors, status } = toRequestError(error)
    if (status >= 500) this.#parts.onFault(error)
    else this.#parts.metrics.refused++
    this.#peer.send(errorMessage(running.id, errors))
  }

  #isRunning(running: RunningOperation): boolean {
    return this.#running.get(running.id) === running
  }

  /** Returns whether the operation was running. */
  #remove(running: RunningOperation): boolean {
    if (!this.#isRunning(running)) return false
    if (running.subscription) this.#counted.delete(running)
    return this.#running.delete(running.id)
  }
}
