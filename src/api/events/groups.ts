/** Subscribers with the same request and the same rights form a group: each event is rendered once per group. */
import type { GroupQuota } from './quota.ts'
import type { ChangeRenderer, Subscriber, SubscriberGroup, Topic } from './subscriber.ts'

function topicKey({ kind, collection }: Topic): string {
  return `${kind} ${collection}`
}

function groupKey({ principal: { userId, access, app, claims }, request }: Subscriber): string {
  return `${userId} ${access.key} ${app?.id ?? ''} ${request.key} ${claims?.key ?? ''}`
}

export class SubscriberGroups {
  readonly #quota: GroupQuota
  readonly #groups = new Map<string, SubscriberGroup>()
  readonly #topics = new Map<string, Set<SubscriberGroup>>()

  constructor(quota: GroupQuota) {
    this.#quota = quota
  }

  /** Lets a new subscriber join. Throws RATE_LIMITED if its caller is in too many other groups, and the errors of `join`. */
  admit(subscriber: Subscriber): void {
    this.#quota.require(subscriber.caller, groupKey(subscriber))
    this.join(subscriber)
  }

  /** Throws if the subscriber's principal may never see what the request asks for. */
  join(subscriber: Subscriber): void {
    const { principal, request, caller } = subscriber
    const key = groupKey(subscriber)
    const group = this.#groups.get(key) ?? this.#add(key, request.rendererFor(principal))
    group.members.add(subscriber)
    this.#quota.take(caller, key)
    subscriber.group = group
  }

  /** Returns whether the subscriber was in a group. */
  leave(subscriber: Subscriber): boolean {
    const { group } = subscriber
    if (!group) return false
    subscriber.group = undefined
    group.members.delete(subscriber)
    this.#quota.release(subscriber.caller, group.key)
    if (group.members.size === 0) this.#remove(group)
    return true
  }

  /** The groups that subscribe to a topic. */
  of(topic: Topic): readonly SubscriberGroup[] {
    return [...(this.#topics.get(topicKey(topic)) ?? [])]
  }

  subscribers(): readonly Subscriber[] {
    return [...this.#groups.values()].flatMap(({ members }) => [...members])
  }

  #add(key: string, renderer: ChangeRenderer): SubscriberGroup {
    const group: SubscriberGroup = { key, renderer, members: new Set() }
    this.#groups.set(key, group)
    for (const topic of renderer.topics) {
      const name = topicKey(topic)
      this.#topics.set(name, (this.#topics.get(name) ?? new Set()).add(group))
    }
    return group
  }

  #remove(group: SubscriberGroup): void {
    this.#groups.delete(group.key)
    for (const topic of group.renderer.topics) {
      const name = topicKey(topic)
      const groups = this.#topics.get(name)
      groups?.delete(group)
      if (groups?.size === 0) this.#topics.delete(name)
    }
  }
}
