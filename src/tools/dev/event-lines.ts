/** The log lines of `portico dev` for committed events and for mails. */

import { LogReader } from '../../api/events/log-reader.ts'
import { typeOf } from '../../engine/log/event-types.ts'
import { Outage } from '../../engine/log/outage.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import type { Model } from '../../model/model.ts'
import type { Logger } from '../../server/observability/log.ts'
import { EventBursts, type ShownEvent } from './event-bursts.ts'
import type { StoredMail } from './mail/mailbox.ts'
import { mailPath } from './mail/pages.ts'

/** Formats a mail as a log line, which is shown at every log level. `url`: the service's address. */
export function mailLine({ id, at, to, subject, isSent }: StoredMail, url: string): string {
  return JSON.stringify({ dev: 'mail', time: at, to, subject, link: `${url}${mailPath}/${id}`, isSent })
}

type ShownChange = ShownEvent & Pick<LoggedChange, 'id' | 'userId' | 'at' | 'changed'>

export class EventLines {
  readonly #reader: LogReader
  readonly #bursts: EventBursts<ShownChange>

  constructor(model: Model, feed: ChangeFeed, logger: Logger) {
    const onFault = (error: unknown) => logger.error({ err: error }, 'events cannot be shown')
    const show = (change: LoggedChange) => {
      const collection = model.collections.get(change.collection)
      if (collection === undefined) return undefined
      const { event, id, userId, at, changed } = change
      this.#bursts.add({ event, type: typeOf(change, collection), id, userId, at, changed })
      return undefined
    }
    this.#bursts = new EventBursts({
      one: shown => logger.info({ dev: 'event', ...shown }, 'event'),
      folded: events => logger.info({ dev: 'events', ...events }, 'events'),
    })
    this.#reader = new LogReader({
      feed,
      outage: new Outage(() => feed.last(), onFault),
      beforeDelivery: () => undefined,
      onLoss: onFault,
      deliver: show,
    })
  }

  start(): Promise<void> {
    return this.#reader.start()
  }

  stop(): void {
    this.#reader.stop()
    this.#bursts.flush()
  }
}
