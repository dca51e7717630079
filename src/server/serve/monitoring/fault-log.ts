/**
 * Logs failed requests, background work and overload. A failing database, or a lack of descriptors, is told once, then counted
 * until it is over.
 */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { isHealthCheck } from '../../../base/call.ts'
import { ApiError, isOutOfDescriptors } from '../../../base/errors.ts'
import type { Clock } from '../../../delivery/consumer/timetable.ts'
import type { HttpParts } from '../../http/http.ts'
import type { Logger } from '../../observability/log.ts'

/** How often to check whether the outage is over. */
const checkIntervalMs = 1000
/** How often the failures are counted in the log meanwhile. */
const countIntervalMs = 60_000
/** The first line does not wait longer for the reason. */
const reasonTimeoutMs = 1000

export interface FaultLogParts {
  readonly logger: Logger
  /** Rejects with the reason while the database cannot serve an ordinary read and an ordinary write. */
  readonly check: () => Promise<void>
  readonly clock: Clock
}

interface Outage {
  readonly since: number
  /** Failures after the first one. */
  failures: number
  /** Whether one was reported since the last check. */
  hasNew: boolean
  countedAt: number
}

interface OutageTexts {
  readonly begins: string
  readonly lasts: string
  readonly ends: string
}

const databaseTexts: OutageTexts = {
  begins: 'the database fails: further failures are counted until it works again',
  lasts: 'the database still fails',
  ends: 'the database works again',
}

const descriptorTexts: OutageTexts = {
  begins:
    'no more files and connections can be opened: raise `ulimit -n`; further failures are counted until they can',
  lasts: 'still no more files and connections can be opened',
  ends: 'files and connections can be opened again',
}

export class FaultLog {
  readonly #parts: FaultLogParts
  readonly #database: OutageLog
  readonly #descriptors: OutageLog

  constructor(parts: FaultLogParts) {
    this.#parts = parts
    this.#database = new OutageLog(parts, databaseTexts)
    this.#descriptors = new OutageLog({ ...parts, check: openDescriptor }, descriptorTexts)
  }

  /** What the HTTP server reports: errors whose details clients do not see, and overload. */
  get http(): Pick<HttpParts, 'onOverload' | 'onFault'> {
    const { logger } = this.#parts
    return {
      onOverload(isOverloaded, refused) {
        if (isOverloaded) logger.warn('overloaded: requests that cannot be answered in time are refused')
        else logger.warn({ refused }, 'no longer overloaded')
      },
      onFault: (error, { requestId, method, path }) => {
        const fields = { request_id: requestId, method }
        // An orchestrator polls while the service starts or stops.
        if (isHealthCheck(path) && isExpected(error))
          logger.debug({ reason: error.message, ...fields }, 'not ready')
        else this.report(error, 'request failed', fields)
      },
    }
  }

  /** A refusal in normal operation is a warning without a stack. */
  report(error: unknown, message: string, fields: object = {}): void {
    const { logger } = this.#parts
    if (isExpected(error)) logger.warn({ reason: error.message, ...fields }, message)
    else if (isOutOfDescriptors(error)) void this.#descriptors.count(error, fields)
    else if (isDatabaseFault(error)) void this.#database.count(error, fields)
    else logger.error({ err: error, ...fields }, message)
  }
}

/** The failures of one kind: one line when they begin, counts while they last, one line when they end. */
class OutageLog {
  readonly #parts: FaultLogParts
  readonly #texts: OutageTexts
  #outage: Outage | undefined

  constructor(parts: FaultLogParts, texts: OutageTexts) {
    this.#parts = parts
    this.#texts = texts
  }

  async count(error: unknown, fields: object): Promise<void> {
    if (this.#outage !== undefined) {
      this.#outage.failures++
      this.#outage.hasNew = true
      return
    }
    const { logger, clock } = this.#parts
    const now = clock.now()
    this.#outage = { since: now, failures: 0, hasNew: false, countedAt: now }
    const reason = (await this.#reason()) ?? rootMessage(error)
    logger.error({ reason, ...fields, err: error }, this.#texts.begins)
    this.#checkLater(this.#outage)
  }

  /** What the check says; undefined if it succeeds or does not end in time. */
  async #reason(): Promise<string | undefined> {
    const { check, clock } = this.#parts
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const cancel = clock.after(reasonTimeoutMs, () => resolve(undefined))
    const checked = check().then(
      () => undefined,
      error => String(error.message),
    )
    try {
      return await Promise.race([checked, late])
    } finally {
      cancel()
    }
  }

  #checkLater(outage: Outage): void {
    this.#parts.clock.after(checkIntervalMs, () => void this.#check(outage))
  }

  async #check(outage: Outage): Promise<void> {
    const { check, clock, logger } = this.#parts
    const isQuiet = !outage.hasNew
    outage.hasNew = false
    const failure = isQuiet ? await check().catch((error: unknown) => error) : 'requests fail'
    // The service stops: nothing is to be told any more.
    if (isExpected(failure)) return
    const { failures, since } = outage
    const seconds = Math.round((clock.now() - since) / 1000)
    if (failure === undefined) {
      this.#outage = undefined
      logger.info({ failures, seconds }, this.#texts.ends)
      return
    }
    if (clock.now() - outage.countedAt >= countIntervalMs) {
      outage.countedAt = clock.now()
      logger.warn({ failures, seconds }, this.#texts.lasts)
    }
    this.#checkLater(outage)
  }
}

/** Rejects while there is a lack of descriptors. */
async function openDescriptor(): Promise<void> {
  try {
    closeSync(openSync(devNull, 'r'))
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
  }
}

function isExpected(error: unknown): error is ApiError {
  return error instanceof ApiError && error.isExpected
}

function isDatabaseFault(error: unknown): error is ApiError {
  return error instanceof ApiError && error.isDatabaseFault
}

function rootMessage(error: unknown): string {
  let root = error
  while (root instanceof Error && root.cause !== undefined) root = root.cause
  return root instanceof Error ? root.message : String(root)
}
