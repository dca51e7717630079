/** `GET /api/v1/events` in the OpenAPI document: the path, and a schema for each type of event. */

import { changeKinds, eventType, ownTypesOf } from '../../../engine/log/event-types.ts'
import { collectionOfFields } from '../../../engine/logic/operations/input.ts'
import type { ChangeKind } from '../../../engine/plan/change-feed.ts'
import { pascalCase } from '../../../model/check/names.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, EmittedEvent } from '../../../model/model.ts'
import { offersEvents } from '../../events/event-request.ts'
import { defaultLimit, maxLimit, maxWaitSeconds } from '../events/query.ts'
import { prefix } from '../routes.ts'
import { type Reference, schemaReference } from './components.ts'
import { eventFilters } from './filters.ts'
import { valuesSchema } from './logic.ts'
import type { Document } from './names.ts'
import { queryParameter } from './parameters.ts'
import { errors } from './responses.ts'
import { isOpen, requirements } from './security.ts'
import { openapiSchema } from './values.ts'

const eventId = { type: 'string', pattern: '^(0|[1-9][0-9]{0,15})$', maxLength: 16 }
const id = schemaReference('EventId')
const itemId = openapiSchema({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

type EventKind = ChangeKind | 'own'

const schemaKindOf = { created: 'createdEvent', updated: 'updatedEvent', deleted: 'deletedEvent' } as const

const sentences: Readonly<Record<EventKind, string>> = {
  created: 'An item was created.',
  updated: 'An item was updated, or became visible to the listener.',
  deleted:
    'An item was deleted (`data` is the item before that), or is no longer visible to the listener (`data` is null).',
  own: 'An action emitted an event of the item.',
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
      actor: schemaReference('EventActor'),
      ...(isUpdate && {
        changed: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'The fields whose values, as the listener sees them, have changed.',
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
  const logged = [...model.collections.values()].filter(offersEvents)
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
  const describedTypes = allTypes(document)
  const references = describedTypes.map(described => eventReference(document, described))
  const mapping = describedTypes.map(({ type }, index) => [type, references[index]?.$ref ?? ''])
  const changes = describedTypes.flatMap((described): [string, JsonSchema][] =>
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
    description: 'An event of one item, as the listener may see it.',
    oneOf: references,
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
  }
  return [...changes, ['ItemEvent', event]]
}

export const sharedEventSchemas = {
  ItemEvent: {},
  EventActor: {
    type: 'object',
    description:
      'Who made the change, if the listener may read that user, or the app that acted without a user.',
    required: ['user_id', 'app_id'],
    properties: {
      user_id: {
        ...itemId,
        type: ['integer', 'null'],
        description: 'Null: the app acted without a user.',
      },
      app_id: {
        ...itemId,
        type: ['integer', 'null'],
        description: 'The OAuth app through which the change was made.',
      },
      via: { type: 'string', description: 'The action that made the change on their behalf.' },
    },
  },
  EventId: { ...eventId, description: 'The position in the log: an increasing integer, as a string.' },
  EventPage: {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: schemaReference('ItemEvent'), maxItems: maxLimit },
      meta: schemaReference('EventPageMeta'),
    },
  },
  EventPageMeta: {
    type: 'object',
    required: ['next_after', 'has_more'],
    properties: {
      next_after: {
        ...eventId,
        description: 'The `after` of the next request. It also skips events that were not returned.',
      },
      has_more: { type: 'boolean', description: 'Whether more events are available now.' },
    },
  },
} satisfies Readonly<Record<string, JsonSchema>>

function listed(name: string, description: string, values: readonly string[]): JsonSchema {
  const schema = {
    type: 'array',
    items: { type: 'string', minLength: 1 },
    minItems: 1,
    maxItems: values.length,
  }
  return { ...queryParameter(name, description, schema), style: 'form', explode: false }
}

function eventParameters(document: Document): readonly JsonSchema[] {
  const describedTypes = allTypes(document)
  const collections = [...new Set(describedTypes.map(({ collection }) => collection))]
  const types = describedTypes.map(({ type }) => type)
  return [
    queryParameter(
      'after',
      'The id of the last event that you received. Without it, only new events are returned.',
      id,
    ),
    queryParameter(
      'limit',
      'The number of events per page. Ignored on a stream.',
      openapiSchema({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit }),
    ),
    queryParameter(
      'wait',
      'How many seconds to wait for the first event if there is none. Ignored on a stream.',
      openapiSchema({ type: 'integer', minimum: 0, maximum: maxWaitSeconds, default: 0 }),
    ),
    listed(
      'collections',
      'The collections, separated by commas. By default, all that you may read.',
      collections.map(({ name }) => name),
    ),
    listed(
      'types',
      'The event types, separated by commas: `post.created`, or `post.*` for all types of posts.',
      types,
    ),
    queryParameter('item_id', 'Only events of this item. Requires exactly one collection.', itemId),
    eventFilters,
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'Replaces `after`. Browsers send it when they reconnect to a stream.',
      schema: id,
    },
  ]
}

const description = [
  'Returns changes in order, as you may see them now. With `Accept: text/event-stream`, they are sent as server-sent events.',
  'With exactly one collection, its filters can be used:',
  'if an item no longer matches after an update, this is sent as a deletion without values.',
  'A credential that is limited to scopes needs the scope that reads the collection of each type:',
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
        description: 'The events that follow `after`.',
        content: {
          'application/json': { schema: schemaReference('EventPage') },
          'text/event-stream': {
            schema: {
              type: 'string',
              description:
                'Blocks of `id`, `event` (the type) and `data` (the event as JSON). `event: resync_required` ends a stream if the events that follow its id are no longer stored.',
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
      description: 'The request that is sent to the `url` of a webhook. It is retried until it succeeds.',
      tags: ['events'],
      security: [{}],
      parameters: [
        webhookHeader('webhook-id', 'The same for every attempt.'),
        webhookHeader('webhook-timestamp', 'The time of the attempt, in Unix seconds.'),
        webhookHeader(
          'webhook-signature',
          '`v1,` followed by the HMAC-SHA256 in Base64. Several signatures are separated by spaces.',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaReference('ItemEvent') } },
      },
      responses: {
        '2XX': { description: 'Delivered.' },
        default: { description: 'Not delivered: it will be retried.' },
      },
    },
  }
}
