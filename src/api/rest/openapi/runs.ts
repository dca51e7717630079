/** Runs of reactions and jobs in the OpenAPI document. */
import { hasRuns } from '../../../delivery/runs/runner.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Model } from '../../../model/model.ts'
import { prefix } from '../routes.ts'
import { defaultRuns, maxRunIds, maxRuns } from '../runs.ts'
import { schemaReference } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

const text: JsonSchema = { type: 'string' }
const textOrNull: JsonSchema = { type: ['string', 'null'] }
const largest = Number.MAX_SAFE_INTEGER

const runSchema: JsonSchema = {
  type: 'object',
  required: [
    ...['id', 'name', 'kind', 'state', 'event', 'type', 'collection', 'item_id', 'input', 'attempts', 'at'],
    'error',
  ],
  properties: {
    id: { ...text, description: 'The id for `retry` and `skip`, e.g. `send_invoice/1042`.' },
    name: { ...text, description: 'The name of the reaction or job.' },
    kind: { ...text, enum: ['reaction', 'job'] },
    state: {
      ...text,
      enum: ['waiting', 'dead'],
      description: '`dead`: it failed too often and is no longer tried.',
    },
    event: { ...textOrNull, description: 'The id of the event, for a reaction.' },
    type: { ...textOrNull, description: 'The type of the event, if an action emitted it.' },
    collection: textOrNull,
    item_id: { type: ['integer', 'null'], format: 'int64', minimum: 1, maximum: largest },
    input: { type: ['object', 'null'], additionalProperties: true, description: 'The input of a job.' },
    attempts: { type: 'integer', format: 'int32', minimum: 0, description: 'The number of failed attempts.' },
    at: {
      ...text,
      format: 'date-time',
      description: 'When it is tried next; for a dead run, when it was given up.',
    },
    error: { ...textOrNull, description: 'The error of the last attempt.' },
  },
}

const idsSchema: JsonSchema = {
  type: 'object',
  required: ['runs'],
  additionalProperties: false,
  properties: {
    runs: { type: 'array', items: { ...text, maxLength: 500 }, minItems: 1, maxItems: maxRunIds },
  },
}

const pageSchema: JsonSchema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: schemaReference('LogicRun'), maxItems: maxRuns },
    meta: { type: 'object', required: ['next_after'], properties: { next_after: textOrNull } },
  },
}

/** For a model with reactions or jobs. */
export function runsSchemas(model: Model): { readonly [name: string]: JsonSchema } {
  return hasRuns(model) ? { LogicRun: runSchema, LogicRunPage: pageSchema, LogicRunIds: idsSchema } : {}
}

const who =
  'Who may: administrators, with a credential that is not limited to scopes and does not belong to an app.'
const security = requirements(false)

export function runsPaths(document: Document): [string, JsonSchema][] {
  if (!hasRuns(document.model)) return []
  const root = `${prefix}/events/runs`
  return [
    [root, { get: listOperation(document) }],
    [
      `${root}/retry`,
      { post: requestOperation(document, 'retry', 'Run again now, with a new count of attempts') },
    ],
    [
      `${root}/skip`,
      { post: requestOperation(document, 'skip', 'Skip; the next event of the item continues') },
    ],
  ]
}

function listOperation(document: Document): JsonSchema {
  const parameter = (name: string, schema: JsonSchema, description: string) => {
    return { name, in: 'query', schema, description }
  }
  return {
    operationId: document.operationId('list_runs'),
    summary: 'List runs of reactions and jobs that wait or are dead',
    description: `Dead runs first. ${who}`,
    tags: ['events'],
    security,
    parameters: [
      parameter('state', { type: 'string', enum: ['waiting', 'dead'] }, 'Both by default.'),
      parameter(
        'limit',
        { type: 'integer', format: 'int32', minimum: 1, maximum: maxRuns, default: defaultRuns },
        'The number of runs per page.',
      ),
      parameter('after', text, '`next_after` of the previous page.'),
    ],
    responses: { 200: json('A page of runs.', schemaReference('LogicRunPage')), ...errors('Read') },
  }
}

function requestOperation(document: Document, action: 'retry' | 'skip', summary: string): JsonSchema {
  return {
    operationId: document.operationId(`${action}_runs`),
    summary,
    description: `Takes effect within a second. ${who}`,
    tags: ['events'],
    security,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemaReference('LogicRunIds') } },
    },
    responses: {
      202: json('The runs of the request.', schemaReference('LogicRunIds')),
      ...errors('Batch'),
    },
  }
}
