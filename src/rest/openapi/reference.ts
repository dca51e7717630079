/** The OpenAPI document for people: with examples of values and samples of the typed client. */
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Model } from '../../model/model.ts'
import { openapi } from './document.ts'

/** `baseUrl`: see `openapi`. */
export function referenceDocument(model: Model, baseUrl: string | undefined): JsonSchema {
  return openapi(model, baseUrl)
}
