/** The built-in collections of webhooks (https://www.standardwebhooks.com) and their deliveries. */
import { nobody, owner, related, signedIn } from '../access.ts'
import { collection, index } from '../declaration.ts'
import type { CollectionDeclaration } from '../declared-model.ts'
import type { Collection } from '../model.ts'
import { webhookDeliveryFields, webhookFields } from './webhook-fields.ts'

/** Further event types of collections, in addition to those of changes. */
const furtherTypes: ReadonlyMap<string, readonly string[]> = new Map([['webhooks', ['webhook.paused']]])

type Logged = Pick<Collection, 'name' | 'singular' | 'unlogged' | 'emits'>

/** The values of a webhook's `types`, each with the collection of its events; undefined: all events. */
export function webhookTypes<C extends Logged>({
  collections,
}: {
  readonly collections: ReadonlyMap<string, C>
}): ReadonlyMap<string, C | undefined> {
  const types = new Map<string, C | undefined>()
  for (const collection of collections.values()) {
    if (collection.unlogged) continue
    const { name, singular, emits } = collection
    const changeTypes = ['created', 'updated', 'deleted', '*'].map(kind => `${singular}.${kind}`)
    const otherTypes = [...(furtherTypes.get(name) ?? []), ...(emits?.keys() ?? [])]
    for (const type of [...changeTypes, ...otherTypes]) types.set(type, collection)
  }
  return types.set('*', undefined)
}

const own = owner('user_id')

/** Users see and change only their own webhooks. Their secrets are records: see `identity/webhooks/secrets.ts`. */
export function webhooks(): CollectionDeclaration {
  return collection({
    description: 'URLs to which events are sent.',
    fields: webhookFields,
    indexes: [index('grant')],
    access: { read: own, create: signedIn, update: own, delete: own },
  })
}

/** Past and pending deliveries of webhooks. Only Portico itself writes them. */
export function webhookDeliveries(): CollectionDeclaration {
  const declaration = collection({
    description: 'Deliveries of webhooks, sent and scheduled.',
    fields: webhookDeliveryFields,
    indexes: [index('status', 'due_at')],
    access: { read: related('webhook', own), create: nobody, update: nobody, delete: nobody },
  })
  // A log row for each delivery would itself be an event to deliver.
  return { ...declaration, unlogged: true }
}
