/** The mails that `portico dev` shows. The supervisor numbers and stores them; each serving process has a copy. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { MailMessage } from '../../../identity/mail/mail.ts'

export interface NewMail extends MailMessage {
  readonly at: EpochMs
  /** Whether a mail server accepted it. */
  readonly isSent: boolean
}

export interface StoredMail extends NewMail {
  readonly id: number
}

const maxMails = 200
/** For all mails together. A single longer mail is kept too. */
const maxCharacters = 16_000_000

function lengthOf({ subject, text, html = '' }: NewMail): number {
  return subject.length + text.length + html.length
}

export class Mailbox {
  readonly #mails = new Map<number, StoredMail>()
  #characters = 0
  #lastId = 0

  /** Adds a new mail, and numbers it. */
  add(mail: NewMail): StoredMail {
    const stored = { ...mail, id: this.#lastId + 1 }
    this.put(stored)
    return stored
  }

  /** Adds a numbered mail, unless it was already added. */
  put(mail: StoredMail): void {
    if (this.#mails.has(mail.id)) return
    this.#mails.set(mail.id, mail)
    this.#characters += lengthOf(mail)
    this.#lastId = Math.max(this.#lastId, mail.id)
    while (this.#mails.size > 1 && (this.#mails.size > maxMails || this.#characters > maxCharacters))
      this.#dropOldest()
  }

  get(id: number): StoredMail | undefined {
    return this.#mails.get(id)
  }

  /** The newest first. */
  list(): readonly StoredMail[] {
    return [...this.#mails.values()].sort((a, b) => b.id - a.id)
  }

  #dropOldest(): void {
    const oldest = this.list().at(-1)
    if (oldest === undefined) return
    this.#mails.delete(oldest.id)
    this.#characters -= lengthOf(oldest)
  }
}
