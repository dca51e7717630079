/**
 * The log of committed changes → subscribers. Every event is read once, in commit order; subscribers who ask
 * the same question with the same rights share one answer.
 */
import { ApiError } from '../errors.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'
import type { Bound, ChangeKind, Engine, ItemChange, Subscribed } from './engine.ts'
import { isPassing, Outage } from './outage.ts'
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
const PATIENCE = 10_000

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
  /** Events up to this one came before the subscription, or were sent; undefined while the feed is asked for it. */
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
  /** How long a delivery is tried again while the database answers other questions, in milliseconds. */
  readonly patience?: number
}

export class Hub {
  readonly #parts: HubParts
  readonly #outage: Outage
  readonly #topics = new Map<string, Map<string, Group>>()
  #size = 0
  #last = 0
  #stop: (() => void) | undefined
  #starting: Promise<void> | undefined
  #pumping = false
  #isClosed = false
  #again = false
  #delivering: LoggedChange | undefined
  /** Deliveries of this change to those who have changed their group meanwhile. */
  #late: Promise<void>[] = []
  /** How many replies were handed to sinks. */
  delivered = 0

  constructor(parts: HubParts) {
    this.#parts = parts
    this.#outage = new Outage(() => parts.feed.last(), parts.onFault)
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
      if (event <= member.since || !member.group) continue
      member.since = event
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
    const topic = topicOf(subscribed)
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
      this.#catchUp(member)
    } catch (error) {
      this.#release()
      member.sink.end(refusalOf(error).text)
    }
  }

  /** What is on its way to those whom it has left, it has not got. */
  #catchUp({ group }: Member): void {
    const change = this.#delivering
    if (!group || !change || group.topic !== topicOf(change)) return
    const later = this.#deliverTo(group, change)
    if (later) this.#late.push(later)
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
    const { feed } = this.#parts
    const outage = this.#outage
    this.#last = await feed.last()
    const off = feed.onCommit(() => this.#wake())
    const look = async () => feed.look()
    const lookAgain = () =>
      look().then(
        () => {
          if (this.#delivering === undefined) outage.over()
        },
        error => outage.tell(error),
      )
    const timer = setInterval(lookAgain, LOOK).unref()
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
    setImmediate(() => {
      this.#pump()
        .then(
          () => this.#outage.over(),
          error => this.#stumble(error),
        )
        .finally(() => {
          this.#pumping = false
          if (this.#again && this.#size > 0) this.#wake()
        })
    })
  }

  /** What the log could not tell now, it will tell later. */
  async #stumble(error: unknown): Promise<void> {
    this.#outage.tell(error)
    if (!isPassing(error)) return
    this.#again = true
    await this.#outage.pause()
  }

  async #pump(): Promise<void> {
    this.#again = false
    while (this.#size > 0) {
      const events = await this.#parts.feed.after(this.#last, BATCH)
      if (events.length === 0) return
      await this.#parts.beforeDelivery(new Set(events.map(event => event.collection)))
      let began = performance.now()
      for (const event of events) {
        this.#delivering = event
        const delivered = this.#deliver(event)
        if (delivered) await delivered
        while (this.#late.length > 0) await Promise.all(this.#late.splice(0))
        this.#delivering = undefined
        this.#last = event.event
        if (performance.now() - began < TURN) continue
        await new Promise(resolve => setImmediate(resolve))
        began = performance.now()
      }
    }
  }

  /** At once where every answer is there at once. */
  #deliver(change: LoggedChange): Promise<unknown> | undefined {
    const groups = this.#topics.get(topicOf(change))
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
        error => this.#retry(group, change, error),
      )
    } catch (error) {
      return this.#retry(group, change, error)
    }
  }

  /** While the database is away, nobody misses anything by waiting. */
  async #retry(group: Group, change: ItemChange, cause: unknown): Promise<void> {
    const { patience = PATIENCE } = this.#parts
    let error = cause
    let until = Number.POSITIVE_INFINITY
    while (isPassing(error) && performance.now() < until) {
      this.#outage.tell(error)
      await this.#outage.end(() => this.#size > 0)
      if (group.members.size === 0) return
      until = Math.min(until, performance.now() + patience)
      try {
        return this.#send(group, change, await group.subscribed.deliver(change))
      } catch (again) {
        error = again
      }
    }
    this.#fail(group, error)
  }

  #send({ members }: Group, { event }: ItemChange, text: string | null): void {
    if (text === null) return
    for (const member of members) {
      if (member.since === undefined) member.held.push({ event, text })
      else if (event > member.since) {
        member.since = event
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

function topicOf({ kind, collection }: { readonly kind: ChangeKind; readonly collection: string }): string {
  return `${kind} ${collection}`
}
