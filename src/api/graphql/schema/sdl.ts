/** The schema in the schema definition language. */
import { printSchema } from 'graphql'
import type { Model } from '../../../model/model.ts'
import { defaultDocumentLimits } from '../limits/document-limits.ts'
import { createSchema } from './schema.ts'

export function sdlOf(model: Model): string {
  return `${printSchema(createSchema(model, defaultDocumentLimits.listBound).schema)}\n`
}
