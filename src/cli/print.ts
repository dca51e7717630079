/** What is generated from the model. */
import type { Settings } from '../config.ts'
import type { Model } from '../model/model.ts'
import { openapi } from '../rest/openapi.ts'

export function openapiText(model: Model, { baseUrl, port }: Settings): string {
  return `${JSON.stringify(openapi(model, baseUrl ?? `http://localhost:${port}`), null, 2)}\n`
}
