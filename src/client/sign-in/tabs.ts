/**
 * Coordinates the tabs of one app. A duplicated tab has a copy of the tokens, and a refresh token works once: before a tab
 * refreshes, it asks the others, and afterwards it notifies them. Tokens are passed only between pages of one origin.
 */
import { randomText } from '../connection.ts'
import { type Channel, type Locks, page } from './page.ts'

export interface Tokens {
  readonly access: string
  readonly refresh: string | undefined
  /** When the access token has to be refreshed, in milliseconds since 1970. */
  readonly refreshAt: number
  /** The refresh tokens that these tokens replaced. */
  readonly former: readonly string[]
}

/** The tokens that replaced a refresh token; null if it was revoked; undefined if no tab knows of either. */
export type Successor = Tokens | null | undefined

interface TabMessage {
  readonly kind: 'replaced' | 'ask' | 'answer'
  readonly refresh: string
  readonly by?: Successor
}

export interface TabsParts {
  readonly name: string
  readonly successorOf: (refresh: string) => Successor
  readonly adopt: (refresh: string, successor: Tokens | null) => void
}

/** The time to wait for other tabs: browsers suspend background tabs, which then do not answer. */
const answerTimeoutMs = 1_000

export class Tabs {
  readonly #parts: TabsParts
  readonly #locks: Locks
  readonly #channel: Channel
  #onAnswer: (message: TabMessage) => void = () => undefined

  constructor(parts: TabsParts, locks: Locks, channel: Channel) {
    this.#parts = parts
    this.#locks = locks
    this.#channel = channel
    channel.onmessage = ({ data }) => this.#receive(data as TabMessage)
    // The lock is held as long as the tab exists, so that other tabs can count it.
    locks
      .request(`${this.#prefix}${randomText()}`, () => new Promise<void>(() => undefined))
      .catch(() => undefined)
  }

  /** Returns undefined if the browser lacks Web Locks or `BroadcastChannel`. */
  static open(parts: TabsParts): Tabs | undefined {
    const { locks } = page.navigator ?? {}
    if (locks === undefined || page.BroadcastChannel === undefined) return undefined
    return new Tabs(parts, locks, new page.BroadcastChannel(parts.name))
  }

  /** Runs `work` in one tab of the app at a time. */
  exclusively(work: () => Promise<void>): Promise<void> {
    return this.#locks.request(this.#parts.name, work)
  }

  notify(refresh: string, successor: Tokens | null): void {
    this.#post({ kind: 'replaced', refresh, by: successor })
  }

  /** Asks all other tabs which tokens replaced the refresh token. */
  async ask(refresh: string): Promise<Successor> {
    const { held = [] } = await this.#locks.query()
    let others = held.filter(({ name }) => name?.startsWith(this.#prefix)).length - 1
    if (others < 1) return undefined
    return new Promise(resolve => {
      const timer = setTimeout(() => resolve(undefined), answerTimeoutMs)
      this.#onAnswer = answer => {
        if (answer.refresh !== refresh || (answer.by === undefined && --others > 0)) return
        clearTimeout(timer)
        resolve(answer.by)
      }
      this.#post({ kind: 'ask', refresh })
    })
  }

  get #prefix(): string {
    return `${this.#parts.name}:tab:`
  }

  #receive(message: TabMessage): void {
    const { kind, refresh, by } = message
    if (kind === 'ask') this.#post({ kind: 'answer', refresh, by: this.#parts.successorOf(refresh) })
    else if (kind === 'answer') this.#onAnswer(message)
    else if (by !== undefined) this.#parts.adopt(refresh, by)
  }

  #post(message: TabMessage): void {
    this.#channel.postMessage(message)
  }
}
