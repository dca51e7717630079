/** `GET /api/v1/events` in the OpenAPI document: the path, and a schema for each type of event. */

import type { ChangeKind } from '../../events/change-feed.ts'
import { isLogged } from '../../events/event-request.ts'
import { changeKinds, eventType, ownTypesOf } from '../../events/event-types.ts'
import { collectionOfFields } from '../../logic/operations/input.ts'
import { pascalCase } from '../../model/check/names.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, EmittedEvent } from '../../model/model.ts'
import { defaultLimit, maxLimit, maxWaitSeconds } from '../events/query.ts'
import { prefix } from '../routes.ts'
import { type Reference, referTo } from './components.ts'
import { eventFilters } from './filters.ts'
import { valuesSchema } from './logic.ts'
import type { Document } from './names.ts'
import { queryParameter } from './parameters.ts'
import { errors } from './responses.ts'
import { isOpen, requirements } from './security.ts'
import { shownSchema } from './values.ts'

const eventId = { type: 'string', pattern: '^(0|[1-9][0-9]{0,15})$', maxLength: 16 }
const id = referTo('schemas', 'EventId')
const itemId = shownSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

type EventKind = ChangeKind | 'own'

const schemaKindOf = { created: 'createdEvent', updated: 'updatedEvent', deleted: 'deletedEvent' } as const

const sentences: Readonly<Record<EventKind, string>> = {
  created: 'An item was created.',
  updated: 'An item was changed, or came into the view of the listener.',
  deleted: 'An item was deleted (`data` is what it was), or left the view of the listener (`data` is null).',
  own: 'Something happened to an item.',
}

interface Described {
  readonly collection: Collection
  readonly kind: EventKind
  /** The event type that the schema describes. */
  readonly type: string
}

function eventSchema(document: Document, { collection, kind, type }: Described): JsonSchema {
  const item = document.schema(collection, 'item')
  const isUpdate = kind === 'updated'
  const emitted = collection.emits?.get(type)
  return {
    type: 'object',
    description: emitted?.description ?? sentences[kind],
    required: [
      ...['id', 'type', 'created_at', 'collection', 'item_id'],
      ...[...(isUpdate ? ['changed'] : []), ...(emitted ? ['values'] : []), 'data'],
    ],
    properties: {
      id,
      // Not an enumeration: client generators would make a type of each.
      type: { type: 'string', const: type },
      created_at: { type: 'string', format: 'date-time' },
      collection: { type: 'string', const: collection.name },
      item_id: itemId,
      actor: referTo('schemas', 'EventActor'),
      ...(isUpdate && {
        changed: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'The fields whose values the listener reads otherwise than before.',
        },
      }),
      ...(emitted && { values: emittedValues(document, emitted) }),
      data: kind === 'deleted' ? { anyOf: [item, { type: 'null' }] } : item,
    },
  }
}

/** `project.archived` → `ProjectArchived`. */
function typeName(type: string): string {
  return pascalCase(type.replaceAll('.', '_'))
}

/** The values that the action emits besides the item. */
function emittedValues(document: Document, { type, fields }: EmittedEvent): Reference {
  const shape = collectionOfFields(type.replaceAll('.', '_'), fields)
  return document.schemas.refer(fields, `${typeName(type)}Values`, () => valuesSchema(document, shape))
}

/** The event types of all collections that have events. */
function allTypes({ model }: Document): readonly Described[] {
  const logged = [...model.collections.values()].filter(isLogged)
  return logged.flatMap((collection): Described[] => [
    ...changeKinds.map(kind => ({ collection, kind, type: eventType(collection, kind) })),
    ...ownTypesOf(collection).map(type => ({ collection, kind: 'own' as const, type })),
  ])
}

function eventReference(document: Document, described: Described): Reference {
  const { collection, kind, type } = described
  if (kind !== 'own') return document.schema(collection, schemaKindOf[kind])
  return document.schemas.refer(`event ${type}`, `${typeName(type)}Event`, () =>
    eventSchema(document, described),
  )
}

/** The schemas of events, by name. */
export function eventSchemas(document: Document): [string, JsonSchema][] {
  const all = allTypes(document)
  const references = all.map(described => eventReference(document, described))
  const mapping = all.map(({ type }, at) => [type, references[at]?.$ref ?? ''])
  const changes = all.flatMap((described): [string, JsonSchema][] =>
    described.kind === 'own'
      ? []
      : [
          [
            document.schemaName(described.collection, schemaKindOf[described.kind]),
            eventSchema(document, described),
          ],
        ],
  )
  const event: JsonSchema = {
    description: 'What happened to one item, as the listener may see it.',
    oneOf: references,
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
  }
  return [...changes, ['Event', event]]
}

export const sharedEventSchemas = {
  Event: {},
  EventActor: {
    type: 'object',
    description: 'Who did it, where the listener may read that user.',
    required: ['user_id', 'app_id'],
    properties: {
      user_id: itemId,
      app_id: {
        ...itemId,
        type: ['integer', 'null'],
        description: 'The item of `oauth_apps` through which they did it.',
      },
    },
  },
  EventId: { ...eventId, description: 'Its place in the log: whole numbers that grow, as text.' },
  EventPage: {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: referTo('schemas', 'Event'), maxItems: maxLimit },
      meta: referTo('schemas', 'EventPageMeta'),
    },
  },
  EventPageMeta: {
    type: 'object',
    required: ['next_after', 'has_more'],
    properties: {
      next_after: {
        ...eventId,
        description: 'The `after` of the next request, also past events that were not shown.',
      },
      has_more: { type: 'boolean', description: 'Whether to ask again at once.' },
    },
  },
} satisfies Readonly<Record<string, JsonSchema>>

function listed(name: string, description: string, values: readonly string[]): JsonSchema {
  const schema = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: values.length }
  return { ...queryParameter(name, description, schema), style: 'form', explode: false }
}

function eventParameters(document: Document): readonly JsonSchema[] {
  const all = allTypes(document)
  const collections = [...new Set(all.map(({ collection }) => collection))]
  const types = all.map(({ type }) => type)
  return [
    queryParameter(
      'after',
      'The id of the last event that you have; without it, from the end of the log.',
      id,
    ),
    queryParameter(
      'limit',
      'Events of a page; of no effect on a stream.',
      shownSchema({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit }),
    ),
    queryParameter(
      'wait',
      'Seconds to wait for the first event, where none is there; of no effect on a stream.',
      shownSchema({ type: 'integer', minimum: 0, maximum: maxWaitSeconds, default: 0 }),
    ),
    listed(
      'collections',
      'Of these collections only; without it, of all that you may read.',
      collections.map(({ name }) => name),
    ),
    listed('types', 'Of these types only: `post.created`, or all of one as in `post.*`.', types),
    queryParameter('item_id', 'Of this item only. Needs exactly one collection.', itemId),
    eventFilters,
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'On a stream, instead of `after`: what a browser sends when it reconnects.',
      schema: id,
    },
  ]
}

const description = [
  'What has changed, in order, as you may see it now. With `Accept: text/event-stream`, as server-sent events.',
  'With exactly one collection named, its filters apply:',
  'an update that ends a match is told as a deletion without values.',
  'Each type needs the scope to read its collection, where a credential is limited to scopes:',
].join(' ')

export function eventsPath(document: Document): [string, JsonSchema] {
  const collections = [...new Set(allTypes(document).map(({ collection }) => collection))]
  const scopes = collections.map(({ singular }) => `\`${singular}.*\` needs \`read:${singular}\``)
  const accesses = collections.map(collection => ({ collection, operation: 'read' }) as const)
  const get = {
    operationId: document.operationId('list_events'),
    summary: 'List or follow events',
    description: `${description} ${scopes.join(', ')}.`,
    tags: ['events'],
    security: requirements(accesses.some(access => isOpen(document.model, access))),
    parameters: eventParameters(document),
    responses: {
      200: {
        description: 'The events after `after`.',
        content: {
          'application/json': { schema: referTo('schemas', 'EventPage') },
          'text/event-stream': {
            schema: {
              type: 'string',
              description:
                'Blocks of `id`, `event` (the type) and `data` (the event as JSON). `event: resync_required` ends a stream whose id is not kept.',
            },
          },
        },
      },
      ...errors('Events'),
    },
  }
  return [`${prefix}/events`, { get }]
}

function webhookHeader(name: string, description: string): JsonSchema {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } }
}

/** The requests that webhooks receive: https://www.standardwebhooks.com. */
export function eventWebhook(document: Document): JsonSchema {
  return {
    post: {
      operationId: document.operationId('receive_event'),
      summary: 'Receive an event',
      description: 'What is sent to the `url` of an item of `webhooks`, again and again until it is taken.',
      tags: ['events'],
      security: [{}],
      parameters: [
        webhookHeader('webhook-id', 'The same at every attempt.'),
        webhookHeader('webhook-timestamp', 'Of the attempt, in Unix seconds.'),
        webhookHeader(
          'webhook-signature',
          '`v1,` and the HMAC-SHA256 in Base64; several are separated by spaces.',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: referTo('schemas', 'Event') } },
      },
      responses: {
        '2XX': { description: 'It is taken.' },
        default: { description: 'It is not, and will be sent again.' },
      },
    },
  }
}
