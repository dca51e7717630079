/** What the routes need to answer requests. Created once. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import type { RunView } from '../../delivery/runs/view.ts'
import type { Files } from '../../engine/files/files.ts'
import type { Idempotency, KeyedAttempt } from '../../engine/idempotency/idempotency.ts'
import type { OpenPersonalData } from './actions/action.ts'
import type { ActionServices } from './actions/answer.ts'
import type { EventsHandler } from './events/events.ts'
import type { Explain } from './explain.ts'
import type { Exports } from './export/export.ts'
import type { WriteServices } from './write.ts'

/** Answers GET and HEAD of one kind of route. */
export type Read<R> = (services: RestServices, route: R, call: Call, principal: Principal) => Awaitable<Reply>

/** Answers the other methods. */
export type Write<R> = (
  services: RestServices,
  route: R,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
) => Awaitable<Reply>

export interface RestServices extends WriteServices, ActionServices {
  /** Answers with the OpenAPI document. */
  readonly document: (call: Call) => Awaitable<Reply>
  readonly batch: (call: Call, principal: Principal, attempt: KeyedAttempt | undefined) => Awaitable<Reply>
  readonly exports: Exports
  readonly events: EventsHandler | undefined
  readonly explain: Explain | undefined
  readonly runs: RunView | undefined
  readonly personalData: OpenPersonalData | undefined
  /** Undefined for a model without files. */
  readonly files: Files | undefined
  readonly idempotency: Idempotency
}
