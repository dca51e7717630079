/** Webhooks, and what they share with reactions: the lease, the position and the order of attempts. */
import { type Mutant, mutantsOf } from './mutant.ts'

const catchingUp = ['delivery/webhooks/catching-up', 'delivery/webhooks/queue#SQLite']
const sender = ['delivery/webhooks/sender#SQLite', 'delivery/webhooks/catching-up']
const scheduler = ['delivery/webhooks/scheduler']

export const webhooks: readonly Mutant[] = [
  ...mutantsOf(
    'delivery/webhooks/enqueuer',
    [...catchingUp, ...sender],
    [
      [
        'a pause jumps to the newest event',
        'const last = position ?? this.#position.event',
        'const last = position ?? (await this.#parts.log.last())',
      ],
      [
        'a pause forgets the webhook’s own position',
        'const last = position ?? this.#position.event',
        'const last = this.#position.event',
      ],
      [
        'a full queue calls itself caught up',
        'const isCaughtUp = hasReadAll && lastEvent === (due.at(-1)?.event ?? position)',
        'const isCaughtUp = hasReadAll',
      ],
      [
        'a webhook that catches up reads one batch only',
        'const isCaughtUp = hasReadAll && lastEvent === (due.at(-1)?.event ?? position)',
        'const isCaughtUp = lastEvent === (due.at(-1)?.event ?? position)',
      ],
      [
        'an event that a former sender began while a webhook caught up is not finished',
        'if (partial === null || partial.user === allUsers) return',
        'if (partial === null || partial.user === allUsers || partial.event <= event) return',
      ],
      [
        'an event that a former sender began is sent again to all',
        'if (resumeAfter !== undefined && (userId ?? noUser) <= resumeAfter.user) continue',
        '',
      ],
      [
        'a webhook catches up again from the event before the one that was finished',
        'if (isCatchingUp) this.#batch.positions.set(webhook.id, change.event)',
        '',
      ],
      [
        'the webhooks that an event has reached get it again after a crash',
        'if (webhook.id <= lastWebhookId) continue',
        '',
      ],
      [
        'an event whose deliveries are split is done after the first part',
        'event: this.#position.event,\n        partial: { event: change.event, webhook: webhook.id, user: userId ?? noUser },',
        'event: Math.max(change.event, this.#position.event),\n        partial: null,',
      ],
      [
        'a full queue is not noticed while events are fanned out',
        'if (this.#isFull(webhook)) this.#batch.positions.set(webhook.id, change.event - 1)',
        'if (this.#isFull(webhook)) continue',
      ],
      [
        'a webhook whose queue is full skips an event',
        'if (this.#isFull(webhook)) this.#batch.positions.set(webhook.id, change.event - 1)',
        'if (this.#isFull(webhook)) this.#batch.positions.set(webhook.id, change.event)',
      ],
      ['a webhook that is not live keeps no position', '      this.#batch.positions.set(id, event)\n', ''],
      ['gaps of the log are not reported', 'if (pruned > position) onGap(webhook, position + 1, pruned)', ''],
      [
        'principals of an earlier batch are used',
        '    this.#batch = new DeliveryBatch()\n    await this.#finishPartial()',
        '    await this.#finishPartial()',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/webhooks/attempt',
    [...catchingUp, 'delivery/webhooks/endpoints', 'delivery/webhooks/sender#SQLite'],
    [
      [
        'a lack of descriptors counts as a failure of the endpoint',
        'if (!(error instanceof OutgoingError) || isOutOfDescriptors(error)) throw error',
        'if (!(error instanceof OutgoingError)) throw error',
      ],
      [
        'attempts are signed with the time of the delivery',
        'return send(parts, { url: webhook.url, id: delivery.messageId, body, secrets, signal })',
        'return send({ ...parts, now: () => Date.parse(delivery.createdAt) }, { url: webhook.url, id: delivery.messageId, body, secrets, signal })',
      ],
      [
        'Retry-After is ignored',
        "retryAfterMs: parseRetryAfter(response.headers['retry-after'], now())",
        'retryAfterMs: undefined',
      ],
      [
        'a redirect counts as a success',
        'if (status >= 200 && status < 300) return null',
        'if (status >= 200 && status < 400) return null',
      ],
      [
        'an event is sent that the webhook no longer subscribes to',
        'if (event === null || !isSubscribed(webhook, change.collection, event.type)) {',
        'if (event === null) {',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/webhooks/results',
    ['delivery/webhooks/endpoints', ...sender],
    [
      [
        'Retry-After holds one delivery only',
        'return { ...verdict, holdUntil }',
        'return { ...verdict, holdUntil: undefined }',
      ],
      [
        'a webhook that is gone is tried again',
        'const dueAt = isGone ? undefined : retryAt(',
        'const dueAt = retryAt(',
      ],
      ['a webhook that is gone is not paused', "if (isGone) return this.#parts.pause(webhook, 'gone')", ''],
      [
        'a webhook that fails for days is not paused',
        "if (now - webhook.failingSince >= failingPeriodMs) this.#parts.pause(webhook, 'failing')",
        '',
      ],
      ['a success does not end the time of failing', '    await this.#setFailing(webhook, null)\n', ''],
      [
        'a retry is not stored',
        'changeDelivery(retry.id, { ...change, due_at })',
        'changeDelivery(retry.id, { due_at })',
      ],
      ['completed deliveries are not counted', '    this.#parts.onCompleted(webhookId)\n', ''],
    ],
  ),
  ...mutantsOf('delivery/webhooks/retention', catchingUp, [
    [
      'half of what is added is trimmed',
      'if (rows.length < stepSize) this.#webhooksToTrim.delete(webhookId)',
      'this.#webhooksToTrim.delete(webhookId)',
    ],
    [
      'the newest deliveries are trimmed',
      "sort: totalOrder([{ field: 'id', descending: true }])",
      "sort: totalOrder([{ field: 'id', descending: false }])",
    ],
    [
      'pending deliveries are deleted after a month',
      'completed_at !== null && completed_at < before',
      'created_at < before',
    ],
  ]),
  ...mutantsOf('delivery/webhooks/session', catchingUp, [
    [
      'a delivery that succeeds while pending ones are read is sent twice',
      'if (!attempted.has(delivery.id)) this.#queue(delivery)',
      'this.#queue(delivery)',
    ],
    ['attempts continue between a 410 and the pause', ' || this.#isAboutToPause(delivery)', ''],
    [
      'events of pending deliveries that wait for a pause are not held',
      '    this.#unscheduled.add(webhookId, event)\n    return { succeeded: true',
      '    return { succeeded: true',
      'the pause notes the lowest waiting event, which is not above it, or reads them again',
    ],
    ['events are held although there are no webhooks', 'this.isOver ? null : ', ''],
    [
      'the sender holds no events',
      'if (heldEvent !== this.#heldEvent && (await this.#holding.isHeld())) await hold(heldEvent)',
      '',
    ],
    [
      'the events of a paused webhook’s pending deliveries are not held',
      'this.#unscheduled.add(id, this.#scheduler.lowestEventOf(id) ?? null)',
      '',
    ],
    [
      'a resumed webhook’s pending deliveries are not read',
      'for (const delivery of await readPending(run, id)) this.#queue(delivery)',
      'void readPending(run, id)',
    ],
  ]),
  ...mutantsOf('delivery/webhooks/unscheduled', catchingUp, [
    [
      'the highest pending event is held, not the lowest',
      'Math.min(event, this.#lowest.get',
      'Math.max(event, this.#lowest.get',
    ],
    [
      'the event of a pending delivery is pruned',
      '(this.#lowest.get(id) ?? last + 1) - 1',
      'this.#lowest.get(id) ?? last',
    ],
    ['a webhook’s own position is not held', 'Math.min(last, position ?? last, (', 'Math.min(last, ('],
  ]),
  ...mutantsOf(
    'delivery/webhooks/signature',
    ['delivery/webhooks/signature'],
    [
      ['only the first secret signs', 'secrets.map(secret =>', 'secrets.slice(0, 1).map(secret =>'],
      ['the time is not signed', '`${id}.${timestamp}.${body}`', '`${id}.${body}`'],
    ],
  ),
  ...mutantsOf(
    'delivery/webhooks/schedule',
    ['delivery/webhooks/schedule'],
    [
      ['Retry-After can postpone without a bound', 'Math.min(retryAfterMs, maxRetryAfterMs)', 'retryAfterMs'],
      [
        'Retry-After can hasten an attempt',
        'Math.max(retryDelayMs(failures, random), Math.min(',
        'Math.min(retryDelayMs(failures, random), Math.max(',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/consumer/scheduler',
    [...scheduler, 'delivery/logic/restart#SQLite'],
    [
      [
        'an attempt whose outcome could not be recorded is repeated later than a lease may end',
        'const minFaultDelayMs = 200',
        'const minFaultDelayMs = 5000',
      ],
      ['a webhook in Retry-After is called', 'if (target.heldUntil > this.#parts.clock.now()) return', ''],
      [
        'an attempt whose outcome could not be recorded is not repeated',
        'verdict = { succeeded: false, retry: { ...task, dueAt: clock.now() + delayMs } }',
        'verdict = { succeeded: false, retry: undefined }',
      ],
      ['a removed webhook’s attempt is repeated', '    if (target.isRemoved) return\n', ''],
      ['a stopped scheduler starts attempts', 'while (!this.#isStopped) {', 'while (true) {'],
      [
        'a slow webhook has as many attempts as others',
        'target.isSlow ? this.#limits.maxPerSlowTarget : this.#limits.maxPerTarget',
        'this.#limits.maxPerTarget',
      ],
      [
        'an item continues although the outcome is not stored',
        'if (verdict.stored === undefined) this.#settle(target, item, task, verdict)',
        'if (true) this.#settle(target, item, task, verdict)',
      ],
    ],
  ),
  ...mutantsOf('delivery/consumer/item-queue', scheduler, [
    ['an earlier event follows later ones', 'isBefore(task, tasks[index - 1])', 'false'],
    [
      'an earlier event interrupts the attempt',
      'const first = this.isRunning ? 1 : 0',
      'const first = 0',
      'the attempt in progress is found by its identity, and none starts before it ends',
    ],
    ['a delivery that is added twice is attempted twice', 'if (existingIndex !== -1) {', 'if (false) {'],
  ]),
  ...mutantsOf(
    'delivery/consumer/lease',
    ['delivery/webhooks/lease#SQLite', 'delivery/logic/reactions#SQLite'],
    [
      ['a lease is taken over at once', 'return now - this.#lastSeen.since >= takeOverMs', 'return true'],
      ['a lease is never taken over', 'return now - this.#lastSeen.since >= takeOverMs', 'return false'],
      [
        'a holder relies on its lease for ever',
        'return this.#payload !== undefined && this.#parts.elapsed() - this.#renewedAt < validityMs',
        'return this.#payload !== undefined',
      ],
      [
        'a renewal extends nothing',
        'const next = JSON.stringify({ ...state, renewals: state.renewals + 1 } satisfies LeaseState)',
        'const next = payload',
      ],
    ],
  ),
  ...mutantsOf(
    'delivery/consumer/position',
    ['delivery/webhooks/lease#SQLite', 'delivery/logic/jobs#SQLite'],
    [
      [
        'a former holder stores its results',
        'if (isLost) throw new ApiError',
        'if (false) throw new ApiError',
      ],
      ['an older term takes the position', 'if (stored.term > term) throw new LeaseLost()', ''],
    ],
  ),
  ...mutantsOf(
    'delivery/consumer/back-off',
    ['delivery/webhooks/schedule', 'delivery/logic/reactions#SQLite'],
    [
      [
        'a delay is not bounded',
        'Math.min(firstDelayMs * delayFactor ** (failures - 1), maxDelayMs)',
        'firstDelayMs * delayFactor ** (failures - 1)',
      ],
      ['all retries are made at once', '(1 - jitter + 2 * jitter * random)', '1'],
      ['runs are retried for ever', 'export const maxAttempts = 13', 'export const maxAttempts = 1300'],
    ],
  ),
]
