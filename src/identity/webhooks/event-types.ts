/** Checks the event types and collections that a webhook names: whether they exist, and which scopes they need. */
import type { FieldFault } from '../../base/errors.ts'
import { webhookTypes } from '../../model/builtin/webhooks.ts'
import type { Collection, Model } from '../../model/model.ts'
import { didYouMean } from '../../model/suggest.ts'

/** The events that a webhook names. */
export interface EventSelection {
  readonly types: readonly string[]
  /** Null: all. */
  readonly collections: readonly string[] | null
}

/** The event types and collections of a model that webhooks can name. */
export class EventTypes {
  readonly #types: ReadonlyMap<string, Collection | undefined>
  readonly #collections: ReadonlyMap<string, Collection>

  constructor(model: Model) {
    this.#types = webhookTypes(model)
    const logged = [...model.collections].filter(([, collection]) => !collection.unlogged)
    this.#collections = new Map(logged)
  }

  /** A fault for each type or collection that does not exist. */
  faults({ types, collections }: Partial<EventSelection>): readonly FieldFault[] {
    return [
      ...unknownNames('types', types ?? [], this.#types.keys(), 'event type'),
      ...unknownNames('collections', collections ?? [], this.#collections.keys(), 'collection with events'),
    ]
  }

  /** The scopes without which some of the named events could never be sent. */
  scopesFor({ types, collections }: EventSelection): readonly string[] {
    const ofTypes = types.flatMap(type => this.#types.get(type) ?? [])
    const ofNames = (collections ?? []).flatMap(name => this.#collections.get(name) ?? [])
    return [...new Set([...ofTypes, ...ofNames].map(({ singular }) => `read:${singular}`))]
  }
}

function unknownNames(
  field: string,
  names: readonly string[],
  validNames: Iterable<string>,
  noun: string,
): readonly FieldFault[] {
  const valid = new Set(validNames)
  return names.flatMap((name, index) => {
    if (valid.has(name)) return []
    const message = `There is no ${noun} \`${name}\`.${didYouMean(name, valid)}`
    return [{ field: `${field}/${index}`, code: 'not_allowed', message }]
  })
}
