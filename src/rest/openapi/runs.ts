/** Runs of reactions and jobs in the OpenAPI document. */
import { hasRuns } from '../../logic/runner.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { prefix } from '../routes.ts'
import { defaultRuns, maxAskedRuns, maxRuns } from '../runs.ts'
import { referTo } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

const text: JsonSchema = { type: 'string' }
const orNull = (type: string): JsonSchema => ({ type: [type, 'null'] })
const largest = Number.MAX_SAFE_INTEGER

const runSchema: JsonSchema = {
  type: 'object',
  required: [
    ...['id', 'name', 'kind', 'state', 'event', 'type', 'collection', 'item_id', 'input', 'attempts', 'at'],
    'error',
  ],
  properties: {
    id: { ...text, description: 'As `retry` and `skip` take it, e.g. `told/1042`.' },
    name: { ...text, description: 'Of the reaction or the job.' },
    kind: { ...text, enum: ['reaction', 'job'] },
    state: { ...text, enum: ['waiting', 'dead'], description: '`dead`: given up.' },
    event: { ...orNull('string'), description: 'The number of a reaction’s event.' },
    type: { ...orNull('string'), description: 'Of an event that an action has emitted.' },
    collection: orNull('string'),
    item_id: { type: ['integer', 'null'], format: 'int64', minimum: 1, maximum: largest },
    input: { type: ['object', 'null'], additionalProperties: true, description: 'Of a job.' },
    attempts: { type: 'integer', format: 'int32', minimum: 0, description: 'That have failed.' },
    at: {
      ...text,
      format: 'date-time',
      description: 'When it is tried next; of a dead letter, when it was given up.',
    },
    error: { ...orNull('string'), description: 'Of the last attempt.' },
  },
}

const askedSchema: JsonSchema = {
  type: 'object',
  required: ['runs'],
  additionalProperties: false,
  properties: {
    runs: { type: 'array', items: { ...text, maxLength: 500 }, minItems: 1, maxItems: maxAskedRuns },
  },
}

const pageSchema: JsonSchema = {
  type: 'object',
  required: ['data', 'meta'],
  properties: {
    data: { type: 'array', items: referTo('schemas', 'LogicRun'), maxItems: maxRuns },
    meta: { type: 'object', required: ['next_after'], properties: { next_after: orNull('string') } },
  },
}

/** For a model with reactions or jobs. */
export function runsSchemas(model: Model): { readonly [name: string]: JsonSchema } {
  return hasRuns(model) ? { LogicRun: runSchema, LogicRunPage: pageSchema, LogicRunIds: askedSchema } : {}
}

const who = 'Who may: administrators, by a credential that no scope limits and that is no app’s.'
const security = requirements(false)

export function runsPaths(document: Document): [string, JsonSchema][] {
  if (!hasRuns(document.model)) return []
  const root = `${prefix}/events/runs`
  return [
    [root, { get: listing(document) }],
    [`${root}/retry`, { post: asking(document, 'retry', 'Run again now, as from the beginning') }],
    [`${root}/skip`, { post: asking(document, 'skip', 'Drop; the next event of the item goes on') }],
  ]
}

function listing(document: Document): JsonSchema {
  const parameter = (name: string, schema: JsonSchema, description: string) => {
    return { name, in: 'query', schema, description }
  }
  return {
    operationId: document.operationId('list_runs'),
    summary: 'Runs of reactions and jobs that wait or were given up',
    description: `Dead letters first. ${who}`,
    tags: ['events'],
    security,
    parameters: [
      parameter('state', { type: 'string', enum: ['waiting', 'dead'] }, 'Left out: both.'),
      parameter(
        'limit',
        { type: 'integer', format: 'int32', minimum: 1, maximum: maxRuns, default: defaultRuns },
        'Of one page.',
      ),
      parameter('after', text, '`next_after` of the page before.'),
    ],
    responses: { 200: json('A page of runs.', referTo('schemas', 'LogicRunPage')), ...errors('Read') },
  }
}

function asking(document: Document, action: 'retry' | 'skip', summary: string): JsonSchema {
  return {
    operationId: document.operationId(`${action}_runs`),
    summary,
    description: `It happens within a second. ${who}`,
    tags: ['events'],
    security,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: referTo('schemas', 'LogicRunIds') } },
    },
    responses: { 202: json('What was asked for.', referTo('schemas', 'LogicRunIds')), ...errors('Batch') },
  }
}
