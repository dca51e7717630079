/** What the model's code in reactions, jobs and routes works with. */

import { Outgoing } from '../../../delivery/outgoing/outgoing.ts'
import type { CodeParts } from '../../../delivery/runs/code.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Mail } from '../../../identity/mail/mail.ts'
import type { LogicLog, LogicMail } from '../../../model/types/run.ts'
import type { Settings } from '../../config/config.ts'
import type { Logger } from '../../observability/log.ts'
import type { LostUpdates } from '../monitoring/lost-updates.ts'

/** `run`: with the rules of the built-in collections. */
export interface ServiceCodeParts
  extends Pick<CodeParts, 'model' | 'run' | 'hooks' | 'watchdog' | 'limits' | 'clock'> {
  readonly store: Store
  readonly mail: Pick<Mail, 'send'>
  readonly settings: Settings
  readonly logger: Logger
  readonly lostUpdates: LostUpdates
}

const maxConnectionsPerHost = 8

/** `close` ends the connections of `fetch`. */
export function openCode(parts: ServiceCodeParts): CodeParts & { close(): Promise<void> } {
  const { model, run, hooks, watchdog, limits, clock, store, mail, settings, lostUpdates } = parts
  const outgoing = new Outgoing({ allowPrivate: settings['reactions.allowPrivate'], maxConnectionsPerHost })
  return {
    ...{ model, run, hooks, watchdog, limits, clock, outgoing },
    mail: checkedMail(mail),
    refresh: () => store.refresh(),
    onLostUpdate: (place, update) => lostUpdates.report(place, update),
    onceMs: settings['logic.limits'].once,
    close: () => outgoing.close(),
  }
}

/** `log` with these fields in every line. */
export function logWith(logger: Logger, ownFields: object): LogicLog {
  const line = (level: keyof LogicLog) => (message: string, fields?: object) =>
    logger[level]({ ...fields, ...ownFields }, String(message))
  return Object.freeze({
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  })
}

/** Refuses messages that a mail server would misread, e.g. with line breaks in a header. */
function checkedMail(mail: Pick<Mail, 'send'>): LogicMail {
  return {
    async send(message) {
      const { to, subject, text, html } = Object(message)
      for (const [name, value] of Object.entries({ to, subject, text })) {
        if (typeof value !== 'string' || value === '')
          throw new TypeError(`mail.send: \`${name}\` must be a non-empty string.`)
      }
      if (/[\r\n]/.test(to + subject)) {
        throw new TypeError('mail.send: `to` and `subject` must be a single line.')
      }
      await mail.send({ to, subject, text, ...(typeof html === 'string' ? { html } : {}) })
    },
  }
}
