/** Subscribers who ask the same question with the same rights: each event is answered once for all of them. */
import type { Principal } from '../principal.ts'
import type { Bound, ChangeKind, Engine, OnFault, Subscribed } from './engine.ts'
import type { Member } from './member.ts'
import { RequestRefused, refusedByEngine } from './refusal.ts'

export interface Group {
  readonly key: string
  /** What its members wait for: see `topicOf`. */
  readonly topic: string
  readonly subscribed: Subscribed
  readonly members: Set<Member>
}

export function topicOf({
  kind,
  collection,
}: {
  readonly kind: ChangeKind
  readonly collection: string
}): string {
  return `${kind} ${collection}`
}

export class Groups {
  readonly #engine: Engine
  readonly #onFault: OnFault
  /** By topic, then by key. */
  readonly #topics = new Map<string, Map<string, Group>>()

  constructor(engine: Engine, onFault: OnFault) {
    this.#engine = engine
    this.#onFault = onFault
  }

  /** Throws when the principal may never see what is asked for. */
  join(member: Member, bound: Bound, principal: Principal): void {
    if (!bound.kept) throw new TypeError('only a subscription has a group')
    const full = `${principal.userId} ${principal.access.key} ${bound.kept.key}`
    const group = this.#known(full) ?? this.#make(full, bound, principal)
    group.members.add(member)
    member.group = group
  }

  /** Whether it was in one. */
  leave(member: Member): boolean {
    const { group } = member
    if (!group) return false
    member.group = undefined
    group.members.delete(member)
    if (group.members.size === 0) this.#drop(group)
    return true
  }

  /** Those who wait for a topic. */
  of(topic: string): readonly Group[] {
    const groups = this.#topics.get(topic)
    return groups ? [...groups.values()] : []
  }

  members(): readonly Member[] {
    return [...this.#topics.values()].flatMap(groups =>
      [...groups.values()].flatMap(({ members }) => [...members]),
    )
  }

  #known(key: string): Group | undefined {
    for (const groups of this.#topics.values()) {
      const found = groups.get(key)
      if (found) return found
    }
    return undefined
  }

  #make(key: string, bound: Bound, principal: Principal): Group {
    const subscribed = this.#engine.subscribe(bound, principal, this.#onFault)
    if ('outcome' in subscribed) throw new RequestRefused(refusedByEngine(subscribed))
    const topic = topicOf(subscribed)
    const group: Group = { key, topic, subscribed, members: new Set() }
    const groups = this.#topics.get(topic) ?? new Map<string, Group>()
    this.#topics.set(topic, groups.set(key, group))
    return group
  }

  #drop({ topic, key }: Group): void {
    const groups = this.#topics.get(topic)
    groups?.delete(key)
    if (groups?.size === 0) this.#topics.delete(topic)
  }
}
