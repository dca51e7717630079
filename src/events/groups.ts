/** Subscribers that ask for the same with the same rights form a group: each event is rendered once per group. */

import type { Principal } from '../principal.ts'
import type { ChangeKind } from './change-feed.ts'
import type { ChangeRenderer, Group, Subscriber } from './subscriber.ts'

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
  /** By topic, then by key. */
  readonly #topics = new Map<string, Map<string, Group>>()

  /** Throws when the principal may never see what the subscriber asks for. */
  join(subscriber: Subscriber, principal: Principal): void {
    const key = `${principal.userId} ${principal.access.key} ${subscriber.request.key}`
    const group = this.#find(key) ?? this.#add(key, subscriber.request.rendererFor(principal))
    group.members.add(subscriber)
    subscriber.group = group
  }

  /** Returns whether the subscriber was in a group. */
  leave(subscriber: Subscriber): boolean {
    const { group } = subscriber
    if (!group) return false
    subscriber.group = undefined
    group.members.delete(subscriber)
    if (group.members.size === 0) this.#remove(group)
    return true
  }

  /** The groups that wait for a topic. */
  of(topic: string): readonly Group[] {
    const groups = this.#topics.get(topic)
    return groups ? [...groups.values()] : []
  }

  subscribers(): readonly Subscriber[] {
    return [...this.#topics.values()].flatMap(groups =>
      [...groups.values()].flatMap(({ members }) => [...members]),
    )
  }

  #find(key: string): Group | undefined {
    for (const groups of this.#topics.values()) {
      const found = groups.get(key)
      if (found) return found
    }
    return undefined
  }

  #add(key: string, renderer: ChangeRenderer): Group {
    const topic = topicOf(renderer)
    const group: Group = { key, topic, renderer, members: new Set() }
    const groups = this.#topics.get(topic) ?? new Map<string, Group>()
    this.#topics.set(topic, groups.set(key, group))
    return group
  }

  #remove({ topic, key }: Group): void {
    const groups = this.#topics.get(topic)
    groups?.delete(key)
    if (groups?.size === 0) this.#topics.delete(topic)
  }
}
