/** Which bodies are read as they arrive. */
import type { Call } from '../../../base/call.ts'
import type { Model } from '../../../model/model.ts'
import { findRoute } from '../routes.ts'
import { isForm, takesForms } from './routes.ts'

const methods: ReadonlySet<string> = new Set(['PUT', 'POST', 'PATCH'])

/** Whether the body of a call is read as it arrives. */
export function streamsBody(model: Model, call: Call): boolean {
  if (!model.collections.has('uploads') || !methods.has(call.method)) return false
  const route = findRoute(model, call.path)
  if (route?.kind === 'file' || route?.kind === 'upload') return true
  return (
    (route?.kind === 'collection' || route?.kind === 'item') && takesForms(route.collection) && isForm(call)
  )
}
