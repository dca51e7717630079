/**
 * The log of committed changes → subscribers. Every event is read once, in commit order; subscribers who ask
 * the same question with the same rights share one answer.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { Bound, ChangeKind, Engine, ItemChange, Subscribed } from './engine.ts'
import { RequestRefused, refusalOf, refusedByEngine } from './refusal.ts'

/** A change as the log tells it. */
export interface LoggedChange extends ItemChange {
  readonly collection: string
  readonly kind: ChangeKind
}

export interface Feed {
  /** The newest event's number; 0 when there is none. */
  last(): Awaitable<number>
  /** What came after an event, in commit order. */
  after(event: number, limit: number): Awaitable<readonly LoggedChange[]>
  /** Calls `listener` after commits of this process, and those of others that `look` has noticed. */
  onCommit(listener: () => void): () => void
  /** Notices what other processes have committed. */
  look(): Awaitable<void>
}

/** Where a subscription's replies go. */
export interface Sink {
  next(text: string): void
  /** The subscription is over. `text`: `{"errors":[…]}` when by an error. */
  end(text: string | undefined): void
}

/**
 * How often other processes' commits are looked for, in milliseconds: a wake-up of theirs may be lost, and what
 * was revoked must end within a second.
 */
const LOOK = 200
const BATCH = 200
/** How long deliveries may keep everything else waiting, in milliseconds. */
const TURN = 10

export interface Subscription {
  /** Whose rights count from now on. Ends the subscription when they no longer suffice. */
  as(principal: Principal): void
  close(): void
}

/** Subscribers who get the same replies. */
interface Group {
  readonly key: string
  readonly bound: Bound
  readonly topic: string
  readonly subscribed: Subscribed
  readonly members: Set<Member>
}

interface Member {
  readonly sink: Sink
  /** Events up to this one came before the subscription; undefined while the feed is asked for it. */
  since: number | undefined
  /** What came meanwhile. */
  held: { readonly event: number; readonly text: string }[]
  group: Group | undefined
}

export interface HubParts {
  readonly engine: Engine
  readonly feed: Feed
  /** Before events of a collection are delivered: credentials may hang on it. */
  readonly beforeDelivery: (collections: ReadonlySet<string>) => Awaitable<void>
  readonly onFault: (error: unknown) => void
}

export class Hub {
  readonly #parts: HubParts
  readonly #topics = new Map<string, Map<string, Group>>()
  #size = 0
  #last = 0
  #stop: (() => void) | undefined
  #starting: Promise<void> | undefined
  #pumping = false
  #isClosed = false
  #again = false
  /** How many replies were handed to sinks. */
  delivered = 0

  constructor(parts: HubParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#size
  }

  /**
   * Every change after this call that `bound` asks for goes to `sink`. `key`: equal for equal operations with
   * equal variables. Throws when the principal may never see it.
   */
  async subscribe(bound: Bound, key: string, principal: Principal, sink: Sink): Promise<Subscription> {
    if (this.#isClosed) throw new ApiError('UNAVAILABLE', 'The service is stopping.')
    // Claims the feed before anything is awaited, so that no commit between goes unseen.
    this.#size++
    const member: Member = { sink, since: undefined, held: [], group: undefined }
    try {
      await this.#start()
      this.#join(member, bound, key, principal)
    } catch (error) {
      this.#release()
      throw error
    }
    try {
      this.#settle(member, await this.#parts.feed.last())
    } catch (error) {
      this.#leave(member, true)
      throw error
    }
    return {
      as: other => this.#rejoin(member, bound, key, other),
      close: () => this.#leave(member, true),
    }
  }

  /** Ends every subscription; none begins any more. */
  close(): void {
    this.#isClosed = true
    for (const groups of this.#topics.values()) {
      for (const { members } of groups.values()) for (const member of members) this.#end(member, undefined)
    }
  }

  #join(member: Member, bound: Bound, key: string, principal: Principal): void {
    const full = `${principal.userId} ${principal.access.key} ${key}`
    const group = this.#known(full) ?? this.#makeGroup(full, bound, principal)
    group.members.add(member)
    member.group = group
  }

  /** From here on it gets what comes, first of all what came while this was not known. */
  #settle(member: Member, since: number): void {
    member.since = since
    const { held, sink } = member
    member.held = []
    for (const { event, text } of held) {
      if (event <= since || !member.group) continue
      this.delivered++
      sink.next(text)
    }
  }

  #known(key: string): Group | undefined {
    for (const groups of this.#topics.values()) {
      const found = groups.get(key)
      if (found) return found
    }
    return undefined
  }

  #makeGroup(key: string, bound: Bound, principal: Principal): Group {
    const subscribed = this.#parts.engine.subscribe(bound, principal)
    if ('outcome' in subscribed) throw new RequestRefused(refusedByEngine(subscribed))
    const topic = `${subscribed.kind} ${subscribed.collection}`
    const group: Group = { key, bound, topic, subscribed, members: new Set() }
    const groups = this.#topics.get(topic) ?? new Map<string, Group>()
    this.#topics.set(topic, groups.set(key, group))
    return group
  }

  #rejoin(member: Member, bound: Bound, key: string, principal: Principal): void {
    if (!member.group) return
    this.#leave(member, false)
    try {
      this.#join(member, bound, key, principal)
    } catch (error) {
      this.#release()
      member.sink.end(refusalOf(error).text)
    }
  }

  #leave(member: Member, forGood: boolean): void {
    const { group } = member
    if (!group) return
    member.group = undefined
    group.members.delete(member)
    if (group.members.size === 0) this.#drop(group)
    if (forGood) this.#release()
  }

  #drop({ topic, key }: Group): void {
    const groups = this.#topics.get(topic)
    groups?.delete(key)
    if (groups?.size === 0) this.#topics.delete(topic)
  }

  #end(member: Member, text: string | undefined): void {
    if (!member.group) return
    this.#leave(member, true)
    member.sink.end(text)
  }

  #release(): void {
    this.#size--
    if (this.#size > 0) return
    this.#stop?.()
    this.#stop = undefined
    this.#starting = undefined
  }

  #start(): Promise<void> {
    this.#starting ??= this.#begin()
    return this.#starting
  }

  async #begin(): Promise<void> {
    const { feed, onFault } = this.#parts
    this.#last = await feed.last()
    const off = feed.onCommit(() => this.#wake())
    const look = async () => feed.look()
    const timer = setInterval(() => look().catch(onFault), LOOK).unref()
    this.#stop = () => {
      off()
      clearInterval(timer)
    }
    // Something may have been committed after the question and before anybody listened.
    this.#wake()
  }

  #wake(): void {
    this.#again = true
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => this.#turn())
  }

  async #turn(): Promise<void> {
    try {
      await this.#pump()
    } catch (error) {
      this.#parts.onFault(error)
      // What could not be read or delivered is still in the log: nobody else will say so again.
      this.#again = true
      await wait(LOOK, undefined, { ref: false })
    }
    this.#pumping = false
    if (this.#again && this.#size > 0) this.#wake()
  }

  async #pump(): Promise<void> {
    this.#again = false
    while (this.#size > 0) {
      const events = await this.#parts.feed.after(this.#last, BATCH)
      if (events.length === 0) return
      await this.#parts.beforeDelivery(new Set(events.map(event => event.collection)))
      let began = performance.now()
      for (const event of events) {
        const delivered = this.#deliver(event)
        if (delivered) await delivered
        this.#last = event.event
        if (performance.now() - began < TURN) continue
        await new Promise(resolve => setImmediate(resolve))
        began = performance.now()
      }
    }
  }

  /** At once where every answer is there at once. */
  #deliver(change: LoggedChange): Promise<unknown> | undefined {
    const groups = this.#topics.get(`${change.kind} ${change.collection}`)
    if (!groups) return undefined
    const waiting: Promise<void>[] = []
    for (const group of [...groups.values()]) {
      const later = this.#deliverTo(group, change)
      if (later) waiting.push(later)
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting)
  }

  #deliverTo(group: Group, change: ItemChange): Promise<void> | undefined {
    try {
      const text = group.subscribed.deliver(change)
      if (!(text instanceof Promise)) return void this.#send(group, change, text)
      return text.then(
        later => this.#send(group, change, later),
        error => this.#fail(group, error),
      )
    } catch (error) {
      return void this.#fail(group, error)
    }
  }

  #send({ members }: Group, { event }: ItemChange, text: string | null): void {
    if (text === null) return
    for (const member of members) {
      if (member.since === undefined) member.held.push({ event, text })
      else if (event > member.since) {
        this.delivered++
        member.sink.next(text)
      }
    }
  }

  /** Whoever missed a change must not believe that nothing happened. */
  #fail({ members }: Group, error: unknown): void {
    this.#parts.onFault(error)
    const { text } = refusalOf(error)
    for (const member of [...members]) this.#end(member, text)
  }
}
