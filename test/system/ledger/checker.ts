/** Compares the events that subscribers received with the writes. */

export type Kind = 'created' | 'updated' | 'deleted'

/** An event of the collection `entries`. */
export interface EntryEvent {
  readonly id: number
  readonly kind: Kind
  readonly item: number
  /** The values of the item; for a deletion, its last values. */
  readonly version: number
}

/** The index of an event in the history of its item: 0, 1, 2 … */
export function stepOf({ kind, version }: Pick<EntryEvent, 'kind' | 'version'>): number {
  return kind === 'deleted' ? version + 1 : version
}

function format({ id, kind, item, version }: EntryEvent): string {
  return `event ${id} (item ${item} ${kind}, version ${version})`
}

const maxFaults = 20

/** The first faults of one kind, and their number. */
export class Faults {
  readonly #faults: string[] = []
  count = 0

  add(text: string): void {
    this.count += 1
    if (this.#faults.length < maxFaults) this.#faults.push(text)
  }

  get listed(): readonly string[] {
    return this.#faults
  }
}

/** Positive numbers by index; a Map of the same size would take five times the memory. */
class Numbers {
  #values = new Float64Array(1024)

  /** 0 if there is none. */
  get(index: number): number {
    return this.#values[index] ?? 0
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) {
      const larger = new Float64Array(Math.max(index + 1, this.#values.length * 2))
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[index] = value
  }

  /** Index and value of each entry. */
  *entries(): Generator<readonly [number, number]> {
    for (const [index, value] of this.#values.entries()) if (value > 0) yield [index, value]
  }
}

/** The events that one subscriber received; repetitions use no memory. */
export class ReceivedEvents {
  readonly name: string
  /** The kinds that it subscribed to. */
  readonly kinds: readonly Kind[]
  readonly faults = new Faults()
  /** Events that were repeated with the same id. */
  repeated = 0
  /** Number of different events. */
  count = 0
  /** The greatest id. */
  last = 0
  /** By the id of the event. */
  readonly #contents = new Numbers()
  /** By item: the number of its events received so far. */
  readonly #steps = new Numbers()

  constructor(name: string, kinds: readonly Kind[]) {
    this.name = name
    this.kinds = kinds
  }

  /** Called in the order of arrival. */
  add(event: EntryEvent): void {
    const content = contentOf(event)
    const eventCount = this.#contents.get(event.id)
    if (eventCount > 0) {
      if (eventCount !== content) this.#fault(`${format(event)} had another content before`)
      this.repeated += 1
      return
    }
    this.#contents.set(event.id, content)
    this.count += 1
    this.last = Math.max(this.last, event.id)
    if (!this.kinds.includes(event.kind)) this.#fault(`${format(event)} was not subscribed to`)
    const step = stepOf(event)
    const behind = this.#steps.get(event.item)
    if (step < behind) this.#fault(`${format(event)} came after step ${behind - 1} of its item`)
    this.#steps.set(event.item, Math.max(step + 1, behind))
  }

  /** Whether as many events were received as the log has of the subscribed kinds. */
  isComplete(log: ReadonlyMap<Kind, readonly EntryEvent[]>): boolean {
    return this.count >= this.kinds.reduce((sum, kind) => sum + (log.get(kind)?.length ?? 0), 0)
  }

  /** The faults of all received events, compared with the whole log. */
  compare(log: readonly EntryEvent[]): Faults {
    for (const event of this.#missing(log)) this.#fault(`${format(event)} was never received`)
    const real = new Map(log.map(event => [event.id, contentOf(event)]))
    for (const [id, content] of this.#contents.entries()) {
      if (real.get(id) !== content) this.#fault(`event ${id} is not like that in the log`)
    }
    return this.faults
  }

  #missing(log: readonly EntryEvent[]): readonly EntryEvent[] {
    return log.filter(event => this.kinds.includes(event.kind) && this.#contents.get(event.id) === 0)
  }

  #fault(text: string): void {
    this.faults.add(`${this.name}: ${text}`)
  }
}

const maxSteps = 2 ** 20

/** Positive, and exact for items below 2^31. */
function contentOf(event: EntryEvent): number {
  const kind = ['created', 'updated', 'deleted'].indexOf(event.kind)
  return (event.item * maxSteps + event.version) * 3 + kind + 1
}

/** An acknowledged write. */
export type AcknowledgedWrite = Omit<EntryEvent, 'id'>

/** The faults of the log: each acknowledged write must have exactly one event, in the order of its item. */
export function compareLog(log: readonly EntryEvent[], written: readonly AcknowledgedWrite[]): Faults {
  const faults = new Faults()
  const expected = new Map<number, number>()
  for (const write of written) {
    const content = contentOf({ ...write, id: 0 })
    expected.set(content, (expected.get(content) ?? 0) + 1)
  }
  const items = new Map<number, number>()
  for (const event of log) {
    const content = contentOf(event)
    const remaining = expected.get(content) ?? 0
    if (remaining === 0)
      faults.add(`${format(event)} is of no acknowledged write, or of one that has an event already`)
    expected.set(content, remaining - 1)
    const next = items.get(event.item) ?? 0
    if (stepOf(event) !== next) faults.add(`${format(event)} is where step ${next} of its item belongs`)
    items.set(event.item, next + 1)
  }
  for (const write of written) {
    const content = contentOf({ ...write, id: 0 })
    if ((expected.get(content) ?? 0) <= 0) continue
    faults.add(`item ${write.item} ${write.kind}, version ${write.version}, has no event`)
    expected.set(content, 0)
  }
  return faults
}
