/** The log lines of `portico dev` for committed events and for mails. */

import { typeOf } from '../events/event-types.ts'
import { LogReader } from '../events/log-reader.ts'
import { Outage } from '../events/outage.ts'
import type { Model } from '../model/model.ts'
import type { Logger } from '../observability/log.ts'
import type { ChangeFeed, LoggedChange } from '../plan/change-feed.ts'
import type { StoredMail } from './mail/mailbox.ts'
import { mailPath } from './mail/pages.ts'

/** Formats a mail as a log line, which is shown at every log level. `url`: the service's address. */
export function mailLine({ id, at, to, subject, isSent }: StoredMail, url: string): string {
  return JSON.stringify({ dev: 'mail', time: at, to, subject, link: `${url}${mailPath}/${id}`, isSent })
}

export class EventLines {
  readonly #reader: LogReader

  constructor(model: Model, feed: ChangeFeed, logger: Logger) {
    const onFault = (error: unknown) => logger.error({ err: error }, 'events cannot be shown')
    const show = (change: LoggedChange) => {
      const collection = model.collections.get(change.collection)
      if (collection === undefined) return undefined
      const { event, id, userId, at, changed } = change
      logger.info({ dev: 'event', event, type: typeOf(change, collection), id, userId, at, changed }, 'event')
      return undefined
    }
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
  }
}
