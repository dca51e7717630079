/** Creates the engine of a model. */

import { type OperationParts, operationParts } from '../../../engine/logic/operations/call.ts'
import { AnswerBound } from '../../../engine/plan/answer-bound.ts'
import type { CreateHooks, Run } from '../../../engine/plan/run.ts'
import type { Model } from '../../../model/model.ts'
import { createEventViews } from '../../events/show-event.ts'
import { type CachedOperation, createPrepare } from '../documents/prepared-documents.ts'
import type { Engine } from '../engine.ts'
import { defaultDocumentLimits, type Limits } from '../limits/document-limits.ts'
import { createSchema, type ModelSchema } from '../schema/schema.ts'
import { createBind, type ExecutableOperation } from './bind.ts'
import { createMutation } from './mutation.ts'
import { type BoundQuery, createQuery } from './query.ts'
import { createRenderer } from './subscription.ts'

export interface EngineOptions {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  /** Runs the model's actions and queries. */
  readonly logic?: OperationParts
  readonly limits?: Partial<Limits>
  /** Whether introspection is allowed. True by default. */
  readonly introspection?: boolean
}

const schemas = new WeakMap<Model, { readonly listBound: number; readonly modelSchema: ModelSchema }>()

/** Cached per model, because `explain` creates engines of its own. */
function schemaFor(model: Model, listBound: number): ModelSchema {
  const cached = schemas.get(model)
  if (cached?.listBound === listBound) return cached.modelSchema
  const modelSchema = createSchema(model, listBound)
  schemas.set(model, { listBound, modelSchema })
  return modelSchema
}

/** Transports pass prepared and bound operations back to the engine that created them: hence the casts. */
export function createEngine(options: EngineOptions): Engine {
  const {
    model,
    run,
    hooks,
    logic = operationParts(options.model, options.hooks),
    introspection = true,
  } = options
  const limits = { ...defaultDocumentLimits, ...options.limits }
  const modelSchema = schemaFor(model, limits.listBound)
  const { schema } = modelSchema
  const views = createEventViews(model, run, logic.limits.answers.readBytes)
  const answerBound = new AnswerBound(logic.limits.answers, 'readBytes')
  const query = createQuery({ model, run, logic }, schema)
  const mutation = createMutation({ model, run, hooks, logic })
  const bind = createBind(modelSchema, limits)
  return {
    schema,
    prepare: createPrepare({ schema, limits, introspection }),
    bind: (prepared, variables) => bind(prepared as CachedOperation, variables),
    execute(bound, principal, context) {
      const operation = bound as ExecutableOperation
      const { variant } = operation
      if (variant.operation === 'query') return query(operation as BoundQuery, principal, context)
      if (variant.operation === 'mutation') return mutation({ ...operation, variant }, principal, context)
      throw new TypeError('a subscription is not executed: subscribe to it')
    },
    subscribe(bound, principal, onFault, onError) {
      const { variant, args, cost } = bound as ExecutableOperation
      if (variant.operation !== 'subscription') throw new TypeError('only a subscription has events')
      return createRenderer({ run, views, onFault, onError, answerBound }, { variant, args, cost }, principal)
    },
  }
}
