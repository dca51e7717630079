/** The schema in the schema definition language. */
import { printSchema } from 'graphql'
import { revealedSecrets } from '../../model/builtin/revealed.ts'
import type { Model } from '../../model/model.ts'
import { defaultDocumentLimits } from '../limits/document-limits.ts'
import { createSchema } from './schema.ts'

export function sdlOf(model: Model, listBound = defaultDocumentLimits.listBound): string {
  return `${printSchema(createSchema(model, { listBound, revealed: revealedSecrets }).schema)}\n`
}
