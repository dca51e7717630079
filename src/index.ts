/** The package's exports: for model files, and for programs that embed Portico. */
export { defineMailTemplates } from './identity/mail/define.ts'

import type { Declaration } from './model/declaration.ts'
import type { GivenSettings } from './server/config/config.ts'
import type { ServeOptions, Service } from './server/serve/typed.ts'

export {
  type AccessRule,
  anyone,
  caller,
  claim,
  field,
  firstParty,
  nobody,
  not,
  owner,
  related,
  role,
  scope,
  signedIn,
} from './model/access.ts'
export { checkModel, ModelError, type ModelFault } from './model/check/check.ts'
export {
  avg,
  coalesce,
  computed,
  concat,
  count,
  datePart,
  dividedBy,
  first,
  max,
  min,
  minus,
  plus,
  round,
  sum,
  times,
  when,
} from './model/computed/builders.ts'
export {
  type CollectionDeclaration,
  collection,
  type Declaration,
  index,
  manyToMany,
  model,
  unique,
  users,
} from './model/declaration.ts'
export { boolean } from './model/fields/boolean.ts'
export { choice } from './model/fields/choice.ts'
export { date } from './model/fields/date.ts'
export { datetime } from './model/fields/datetime.ts'
export type { FieldDeclaration } from './model/fields/declared.ts'
export { email } from './model/fields/email.ts'
export { type FileUpload, file, type StoredFile } from './model/fields/file.ts'
export { integer } from './model/fields/integer.ts'
export { json } from './model/fields/json.ts'
export { currentApp, currentUser, type Marker, now, randomUuid } from './model/fields/marker.ts'
export { number } from './model/fields/number.ts'
export { relation } from './model/fields/relation.ts'
export { string } from './model/fields/string.ts'
export { text } from './model/fields/text.ts'
export type { JsonSchema, JsonValue } from './model/fields/type.ts'
export { url } from './model/fields/url.ts'
export { uuid } from './model/fields/uuid.ts'
export { action, check, every, job, on, query, route } from './model/logic/builders.ts'
export { atMost, item, noOverlap } from './model/logic/logic.ts'
export { type RefusalCode, type RefusalOptions, refuse } from './model/logic/refuse.ts'
export type { Model } from './model/model.ts'
export type { RouteAnswer, RouteRequest, Verify } from './model/types/route.ts'
export type {
  CollectionData,
  CollectionName,
  CreateInput,
  Data,
  Item,
  SystemData,
  UpdateInput,
  Where,
} from './model/types/types.ts'
export type { GivenSettings, ServeOptions, Service }

/**
 * Serves a model until the service is closed. Omitted settings come from the environment, or have their defaults.
 * Rejects with a `ModelError` or a `SettingsError` that lists every fault.
 */
export async function serve<const M extends Declaration>(
  declaration: M,
  options: ServeOptions = {},
): Promise<Service<M>> {
  // Imported on demand, because a model file needs only the declarations.
  const service = await import('./server/serve/serve.ts')
  // At run time the service is built from this model; `serve.ts` does not know its type.
  return (await service.serve(declaration, options)) as unknown as Service<M>
}
