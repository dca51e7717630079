/** The event types and collections that a webhook names: whether they exist, and which scopes they need. */
import type { FieldFault } from '../../errors.ts'
import { webhookTypes } from '../../model/builtin/webhooks.ts'
import type { Collection, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/nearest.ts'

export interface WantedEvents {
  readonly types: readonly string[]
  /** Null: all. */
  readonly collections: readonly string[] | null
}

export class EventTypes {
  readonly #types: ReadonlyMap<string, Collection | undefined>
  readonly #collections: ReadonlyMap<string, Collection>

  constructor(model: Model) {
    this.#types = webhookTypes(model)
    const logged = [...model.collections].filter(([, collection]) => !collection.unlogged)
    this.#collections = new Map(logged)
  }

  /** A fault for each type or collection that does not exist. */
  faults({ types, collections }: Partial<WantedEvents>): readonly FieldFault[] {
    return [
      ...unknownNames('types', types ?? [], this.#types.keys(), 'event type'),
      ...unknownNames('collections', collections ?? [], this.#collections.keys(), 'collection with events'),
    ]
  }

  /** The scopes without which some of the named events could never be sent. */
  scopesFor({ types, collections }: WantedEvents): readonly string[] {
    const named = types.flatMap(type => this.#types.get(type) ?? [])
    const listed = (collections ?? []).flatMap(name => this.#collections.get(name) ?? [])
    return [...new Set([...named, ...listed].map(({ singular }) => `read:${singular}`))]
  }
}

function unknownNames(
  field: string,
  names: readonly string[],
  known: Iterable<string>,
  what: string,
): readonly FieldFault[] {
  const all = new Set(known)
  return names.flatMap((name, index) => {
    if (all.has(name)) return []
    const message = `There is no ${what} \`${name}\`.${didYouMean(name, all)}`
    return [{ field: `${field}/${index}`, code: 'not_allowed', message }]
  })
}
